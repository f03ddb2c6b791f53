"""Licensed photographs in the folders that their owners deliver: who, how old, which eyes.

``reading.load_faces`` gives the usable images, and one table of everything that is wrong
with the others. Whoever needs pixels reads them through ``ldlrepro.data.features.align``.
"""
