/** Save a drawing as PNG, twice as large as it is. The page holds its text, for a canvas may not be read that shows a file. */
document.addEventListener("click", async (event) => {
  const { drawing } = event.target.dataset;
  if (!drawing) return;
  const image = new Image();
  image.src = "data:image/svg+xml," + encodeURIComponent((await unpacked("drawing-data"))[drawing]);
  await image.decode();
  const canvas = Object.assign(document.createElement("canvas"), { width: 2 * image.width, height: 2 * image.height });
  const pen = canvas.getContext("2d");
  pen.fillStyle = "white";
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.drawImage(image, 0, 0, canvas.width, canvas.height);
  const name = drawing.split("/").at(-1) + ".png";
  Object.assign(document.createElement("a"), { href: canvas.toDataURL(), download: name }).click();
});
