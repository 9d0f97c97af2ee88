"""From a place to pictures.

mesh.py       triangles with materials
obj.py        Wavefront OBJ and MTL files into meshes
materials.py  textures of floors, walls and gardens, made from noise
build.py      a whole place as one mesh with instance ids
shaders.py    the GLSL programs
lighting.py   lamps, sun and sky of a place
renderer.py   colour, depth and instance ids in one pass (moderngl over EGL)
sensor.py     what a real camera does to a picture
"""
