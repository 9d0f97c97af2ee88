"""Questions about a recorded place, with their true answers: the twelve tasks and the GST-Bench-Local settings.

    make.py               all of it in order: ``make_questions``
    options.py            how many questions, and every threshold of the filters
    wording.py            the prompts
    records.py            question records in the official format, and the truth behind them
    sampling.py           answers that are spread and letters that are balanced over a whole set
    names.py              labels that name one object of a place without doubt
    targets.py            which objects the videos show well enough
    screens.py            what walls hide
    views.py              where query views can be taken, and what they show
    objects.py            direction, distance and position of objects, marked or named
    self_localization.py  position and orientation of query views
    structure.py          which of four top-down images
    lookalikes.py         plans that resemble a place's own: edits of the place (edits.py, warps.py)
    trajectories.py       which of four paths (paths.py compares and moves paths)
    local.py              the GST-Bench-Local settings

Nothing here is opened by who answers: questions and media go to the place's folder, their truth to its ``gt/``.
"""
