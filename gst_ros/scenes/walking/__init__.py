"""A camera's walk through a place.

    routes.py      shortest ways on the free floor that keep clear of walls and furniture, smoothed
    sight.py       what can be seen from where, without rendering
    plan.py        where to stop, in which order, and where to look round
    motion.py      positions and headings over time, within limits of speed and turning
    walk.py        all of it: a walk of a wanted length for a camera

Nothing here renders; a walk depends on the place's description alone.
"""
