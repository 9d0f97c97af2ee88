"""The data engine: a place from a seed, a walk through it, its video, and its questions with answers.

    place.py       what a place is: rooms, walls, openings, objects, lights, garden; ``scene.json``
    cameras.py     camera presets and poses
    catalogue.py   furniture models by name, with real dimensions and licences
    layout/        floor plans: homes, offices, classrooms, restaurants, gardens
    furnishing/    what stands where
    rendering/     meshes, materials and the OpenGL renderer
    walks.py       collision-free exploration walks
    plans.py       top-down images at three levels of abstraction
    questions/     the twelve tasks, their filters and their true answers
    files.py       the files of a set, and the one way in which they are written: whole or not at all
    reading.py     the one way in which they are read; shapes.py says what they must hold
    whole.py       whether a place that was made still has all its files
    make.py        the pipeline behind ``gst scenes make``
    check/         independent checks of a finished set

An optional extra: nothing above imports it. Ground truth is written into a ``gt/`` folder of its own, which only
scoring, checks and benchmarks open.
"""
