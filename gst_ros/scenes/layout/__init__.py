"""Floor plans: rooms, walls, doors and windows of a place, without its furniture.

drafts.py      rooms as rectangles on a 0.1 m grid, how they touch, and how good such a draft is
programmes.py  which rooms a place has and how large they want to be
partition.py   an outline cut into rooms: slices, wings, carved corners, corridors with rooms on both sides
links.py       which rooms are joined by doors and passages
walls.py       walls from the boundaries between rooms; outlines of rooms inside the walls' faces
openings.py    doors, passages, windows and the front door in those walls
looks.py       materials, lamps, sun and sky
plan.py        all of it in order: ``draw_plan``
"""
