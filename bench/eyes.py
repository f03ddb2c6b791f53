"""How well detectors find eyes, on faces whose eye points are known.

    python -m bench.eyes                    what `ldlrepro images ID --find-eyes` uses
    pip install dlib-bin face_recognition_models "opencv-python-headless<5"
    python -m bench.eyes                    the same beside these

The astronaut of scikit-image is a photograph, whose pupils were read off an enlarged copy; painted
faces and drawn portraits know theirs. Each is turned, scaled and darkened. An error is the distance
of the worse eye, as a share of the distance between the eyes; a face that is not found has none.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ldlrepro.core import numerics
from ldlrepro.data.drawn.painted import painted_face
from ldlrepro.data.images.faces import Eyes
from ldlrepro.data.images.points import similarity

PUPILS = ((203.3, 99.9), (246.1, 102.4))
"""The astronaut's; half a pixel is 1.2 % of the distance between them."""
BAR = 0.05
FAR_OFF = 0.5
"""An error above this is another face, or none."""
SIDE = 256

Scene = tuple[Any, Eyes]
Finder = Callable[[Any], Any]
"""From a Pillow image to two eyes, or None."""


# ---------------------------------------------------------------------- pictures


def astronaut(turn: float, scale: float, light: float) -> Scene:
    """Return the astronaut's face, with the middle between the eyes a little above the centre."""
    from PIL import Image
    from skimage import data

    left, right = np.array(PUPILS)
    ahead = np.array([np.cos(np.deg2rad(turn)), np.sin(np.deg2rad(turn))])
    down = np.array([-ahead[1], ahead[0]])
    distance = float(np.hypot(*(right - left)))
    # As she looks at us her eyes lie three degrees off the level.
    between = np.array([SIDE, SIDE]) / 2 - 0.25 * distance * scale * down
    half = ahead * distance * scale / 2
    eyes = np.array([between - half, between + half])
    back = similarity(eyes, np.array(PUPILS))
    back[:, 2] += 0.5 - back[:, :2] @ [0.5, 0.5]
    moved = Image.fromarray(data.astronaut()).transform(
        (SIDE, SIDE), Image.Transform.AFFINE, tuple(back.ravel()), Image.Resampling.BICUBIC
    )
    return darkened(moved, light), (eyes[0, 0], eyes[0, 1], eyes[1, 0], eyes[1, 1])


def darkened(image: Any, light: float) -> Any:
    return image.point(lambda level: round(level * light))


def painted(count: int, most_turned: float) -> Iterator[Scene]:
    for number in range(count):
        rng = np.random.default_rng([3, number])
        turn, scale = rng.uniform(-most_turned, most_turned), rng.uniform(0.5, 1.0)
        yield painted_face(rng, SIDE, turn, scale, light=rng.uniform(0.2, 1.0))


def large(count: int) -> Iterator[Scene]:
    """Return painted faces in pictures as large as those of MORPH."""
    for number in range(count):
        rng = np.random.default_rng([4, number])
        image, (ax, ay, bx, by) = painted_face(rng, 480, rng.uniform(-10, 10), 0.9)
        yield image.crop((40, 0, 440, 480)), (ax - 40, ay, bx - 40, by)


def portraits(count: int) -> Iterator[Scene]:
    from ldlrepro.data.drawn.portraits import person, portrait

    for number in range(count):
        rng = np.random.default_rng([7, number])
        drawn = portrait(person(rng), rng.uniform(16, 75), None, (200, 240), rng)
        yield drawn.picture, drawn.eyes


def scenes() -> dict[str, list[Scene]]:
    """Return the sets of pictures, by their names."""
    upright = [
        astronaut(turn, scale, light)
        for turn in range(-30, 31, 10)
        for scale in (0.6, 1.0, 1.6)
        for light in (1.0, 0.4, 0.15)
    ]
    round_ = [
        astronaut(turn, scale, light)
        for turn in (40, -50, 60, -70, 80, 90, -100, 120, -140, 160, 180)
        for scale in (0.8, 1.3)
        for light in (1.0, 0.3)
    ]
    small = [astronaut(turn, scale, 1.0) for turn in (-10, 0, 10) for scale in (0.5, 0.4, 0.3)]
    return {
        "photograph, up to 30 degrees, lit 15 to 100 %": upright,
        "photograph, 40 to 180 degrees, lit 30 and 100 %": round_,
        "photograph, eyes 13 to 21 pixels apart": small,
        "painted faces, up to 30 degrees, lit 20 to 100 %": list(painted(40, 30)),
        "painted faces, 400 x 480 pixels": list(large(8)),
        "drawn portraits, as in the drawn albums": list(portraits(40)),
    }


# ---------------------------------------------------------------------- detectors


def ours() -> dict[str, Finder]:
    from ldlrepro.data.eyes.detector import Detector

    detector = Detector()

    def first_look(image: Any) -> Any:
        faces = detector.faces(image)
        return max(faces, key=lambda points: np.hypot(*(points[1] - points[0])), default=None)

    def second_look(image: Any) -> Any:
        sighting = detector.find(image)
        return None if sighting is None else sighting.points

    return {"MTCNN": first_look, "MTCNN, second look": second_look}


def dlib() -> dict[str, Finder]:
    """Return dlib's frontal detector with its two predictors of points."""
    import dlib

    package = find_spec("face_recognition_models")
    assert package is not None
    assert package.origin is not None
    models = Path(package.origin).parent / "models"
    detect = dlib.get_frontal_face_detector()

    def finder(count: int, left: slice, right: slice) -> Finder:
        predict = dlib.shape_predictor(str(models / f"shape_predictor_{count}_face_landmarks.dat"))

        def find(image: Any) -> Any:
            pixels = np.asarray(image)
            boxes, sure, _ = detect.run(pixels, 1, 0)
            if not boxes:
                return None
            shape = predict(pixels, boxes[int(np.argmax(sure))])
            points = np.array([(part.x, part.y) for part in shape.parts()], dtype=float)
            return np.array([points[left].mean(axis=0), points[right].mean(axis=0)])

        return find

    return {
        "dlib, 5 points": finder(5, slice(2, 4), slice(0, 2)),
        "dlib, 68 points": finder(68, slice(36, 42), slice(42, 48)),
    }


def cascades() -> dict[str, Finder]:
    """Return OpenCV's cascades for faces and eyes."""
    import cv2

    cv2.setNumThreads(1)
    folder = cv2.data.haarcascades
    faces = cv2.CascadeClassifier(f"{folder}haarcascade_frontalface_alt2.xml")
    eyes = cv2.CascadeClassifier(f"{folder}haarcascade_eye.xml")

    def find(image: Any) -> Any:
        grey = np.asarray(image.convert("L"))
        boxes = faces.detectMultiScale(grey, 1.1, 4)
        if not len(boxes):
            return None
        x, y, width, height = max(boxes, key=lambda box: box[2])
        upper = grey[y : y + int(0.6 * height), x : x + width]
        found = eyes.detectMultiScale(upper, 1.05, 3, minSize=(width // 8, width // 8))
        if len(found) < 2:
            return None
        middles = sorted((x + a + w / 2 - 0.5, y + b + h / 2 - 0.5) for a, b, w, h in found)
        return np.array([middles[0], middles[-1]])

    return {"OpenCV, cascades": find}


def detectors() -> dict[str, Finder]:
    """Return ours, and those whose packages are here."""
    found = ours()
    if find_spec("dlib") and find_spec("face_recognition_models"):
        found |= dlib()
    if find_spec("cv2"):
        found |= cascades()
    return found


# ---------------------------------------------------------------------- measuring


def error(found: Any, eyes: Eyes) -> float:
    """Return the distance of the worse eye in distances between the eyes; infinite for no eyes."""
    if found is None:
        return np.inf
    known = np.array(eyes).reshape(2, 2)
    off = np.hypot(*(np.asarray(found)[:2] - known).T).max()
    return float(off / np.hypot(*(known[1] - known[0])))


def main() -> None:
    numerics.pin()
    sets, finders = scenes(), detectors()
    print("| pictures | detector | found | within 5 % | mean error | pictures a second |")
    print("|---|---|---|---|---|---|")
    for pictures, scenes_ in sets.items():
        for name, find in finders.items():
            start = time.process_time()
            errors = np.array([error(find(image), eyes) for image, eyes in scenes_])
            speed = len(scenes_) / (time.process_time() - start)
            near = errors[errors < FAR_OFF]
            mean = f"{near.mean():.3f}" if len(near) else ""
            print(
                f"| {pictures} ({len(scenes_)}) | {name} | {len(near) / len(errors):.0%} | "
                f"{(errors <= BAR).mean():.0%} | {mean} | {speed:.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
