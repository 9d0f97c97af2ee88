"""Independent checks of a finished set: the engine of ``gst scenes check``.

    run.py         all of it in order: ``check_set``
    report.py      results, their table and their JSON
    truth.py       the truth of a place, read without the code that wrote it
    geometry.py    poses and projections, worked out anew
    files.py       is everything there, whole, of the right size, and no truth outside ``gt/``?
    marks.py       red rectangles where the target is visible, and nowhere else
    positions.py   query views off the walk and on free floor
    fairness.py    letters, directions and duplicates
    pictures.py    object points against instance images; videos and views against a new rendering
    ranges.py      distances measured in depth images against the answers
    rays.py        ray casting against depth and ids
    oracle.py      answers from poses and boxes alone (rasters.py draws plans for it)
    baselines.py   random guesses against theory; answers from the text alone

Nothing here imports what made the answers: this code must be able to prove that wrong. The oracle reads the truth, so
it is no answerer: evaluations cannot reach it.
"""
