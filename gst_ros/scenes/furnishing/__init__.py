"""What stands where: furniture and small things in the rooms of a floor plan.

models.py      which models a label may be, from the catalogue or made by the data engine
rules.py       the rules of ``data/furnishing.yaml``
space.py       a room's walls, what stands in it already, and whether one can still walk through it
placing.py     putting one thing against a wall, into a corner, on another thing, on a wall
groups.py      things that belong together: seats round a table, a bed with its bedside tables, a workplace
seating.py     a sofa with coffee table and armchairs, and the television that it looks at
runs.py        kitchen units side by side
rows.py        desks of a classroom, tables of a restaurant
gardens.py     lawn, path, trees, hedges and garden furniture
single.py      the rules' verbs for single things
together.py    the rules' verbs for groups and whole rooms
tops.py        small things on large ones
furnish.py     all rooms of a plan in order: ``furnish``
"""
