"""The GLSL programs: shadow maps, the scene pass, and the sky."""

from __future__ import annotations

MAX_LAMPS = 4
"""Lamps that may light one instance."""

SHADOW_VERTEX = """
#version 330
uniform mat4 clip_from_map;
in vec3 in_position;
out vec3 position;
void main() {
    position = in_position;
    gl_Position = clip_from_map * vec4(in_position, 1.0);
}
"""

# Lamps store the distance to the lamp, the sun the depth along its rays: both linear in metres, so one bias fits all.
LAMP_SHADOW_FRAGMENT = """
#version 330
uniform vec3 lamp;
in vec3 position;
out float distance_m;
void main() { distance_m = distance(position, lamp); }
"""

SUN_SHADOW_FRAGMENT = """
#version 330
uniform vec3 sun_direction;
in vec3 position;
out float distance_m;
void main() { distance_m = -dot(position, sun_direction); }
"""

# The scene is drawn twice: its ids with its depths, then its colours where they are nearest. Both must compute the
# very same depth, hence ``invariant``.
IDS_VERTEX = """
#version 330
uniform mat4 clip_from_map;
in vec3 in_position;
invariant gl_Position;
void main() { gl_Position = clip_from_map * vec4(in_position, 1.0); }
"""

IDS_FRAGMENT = """
#version 330
uniform uint instance;
layout(location = 0) out uint out_instance;
void main() { out_instance = instance; }
"""

SCENE_VERTEX = """
#version 330
uniform mat4 clip_from_map;
uniform vec4 axis;              // optical axis in map, and minus its product with the eye: depth = dot(axis, (p, 1))
in vec3 in_position;
in vec3 in_normal;
in vec2 in_uv;
in float in_material;
invariant gl_Position;
out vec3 position;
out vec3 normal;
out vec2 uv;
out float depth_m;
flat out int material;
void main() {
    position = in_position;
    normal = in_normal;
    uv = in_uv;
    material = int(in_material + 0.5);
    depth_m = dot(axis, vec4(in_position, 1.0));
    gl_Position = clip_from_map * vec4(in_position, 1.0);
}
"""

SCENE_FRAGMENT = (
    """
#version 330
#define MAX_LAMPS """
    + str(MAX_LAMPS)
    + """
uniform sampler2DArray textures;
uniform sampler2D materials;     // two texels a row: colour + layer, specular + shininess + emissive
uniform sampler2D lamp_shadows;  // atlas of distances: six faces a row, one row a lamp
uniform sampler2D sun_shadow;    // depth along the sun's rays
uniform vec3 eye;
uniform vec3 view_direction;     // of an orthographic camera, else zero
uniform int lamp_count;
uniform int lamp_rows[MAX_LAMPS];
uniform vec3 lamp_positions[MAX_LAMPS];
uniform vec3 lamp_colours[MAX_LAMPS];
uniform float atlas_rows;
uniform float face_scale;        // tangent of half a face's field of view
uniform mat4 sun_from_map;
uniform vec3 sun_direction;      // towards the sun
uniform vec3 sun_colour;
uniform vec3 ambient_up;
uniform vec3 ambient_down;
uniform float exposure;
uniform float sun_texel_m;

in vec3 position;
in vec3 normal;
in vec2 uv;
in float depth_m;
flat in int material;

layout(location = 0) out vec4 out_colour;
layout(location = 1) out float out_depth;

vec2 face_of(vec3 d, out float face) {
    vec3 a = abs(d);
    if (a.z >= a.x && a.z >= a.y) { face = d.z < 0.0 ? 0.0 : 1.0; return d.xy / a.z; }
    if (a.x >= a.y)               { face = d.x < 0.0 ? 2.0 : 3.0; return d.yz / a.x; }
    face = d.y < 0.0 ? 4.0 : 5.0;
    return d.xz / a.y;
}

float lamp_visibility(int row, vec3 lamp, vec3 p, float slope) {
    vec3 d = p - lamp;
    float face;
    vec2 st = face_of(d, face) / face_scale * 0.5 + 0.5;
    float reach = length(d) - 0.015 - 0.02 * slope;
    float size = float(textureSize(lamp_shadows, 0).x) / 6.0;
    float soft = clamp(0.6 + 0.9 * length(d), 1.0, 3.0) / size;
    vec2 low = vec2(0.5 / size), high = vec2(1.0 - 0.5 / size);
    float lit = 0.0;
    // A ring of taps turned by the pixel's place hides the steps without more of them.
    float turn = 6.2831853 * fract(52.9829189 * fract(dot(gl_FragCoord.xy, vec2(0.06711056, 0.00583715))));
    for (int i = 0; i < 4; ++i) {
        float angle = turn + 1.5707963 * float(i);
        vec2 tap = clamp(st + soft * (i % 2 == 0 ? 1.0 : 0.5) * vec2(cos(angle), sin(angle)), low, high);
        vec2 place = vec2((face + tap.x) / 6.0, (float(row) + tap.y) / atlas_rows);
        lit += texture(lamp_shadows, place).r > reach ? 0.25 : 0.0;
    }
    return lit;
}

float sun_visibility(vec3 p, vec3 n) {
    vec4 s = sun_from_map * vec4(p + n * sun_texel_m * 1.5, 1.0);
    vec2 st = s.xy * 0.5 + 0.5;
    if (any(lessThan(st, vec2(0.0))) || any(greaterThan(st, vec2(1.0)))) return 1.0;
    float depth = -dot(p, sun_direction) - 0.02 - sun_texel_m;
    float texel = 1.0 / float(textureSize(sun_shadow, 0).x);
    float lit = 0.0;
    for (int i = 0; i < 4; ++i) {
        vec2 tap = st + texel * (vec2(i & 1, i >> 1) - 0.5);
        lit += texture(sun_shadow, tap).r > depth ? 0.25 : 0.0;
    }
    return lit;
}

// Two taps along the longer side of the pixel's footprint keep floors sharp at flat angles.
vec3 texel(float layer, vec2 across, vec2 along) {
    bool turned = dot(across, across) < dot(along, along);
    vec2 longer = turned ? along : across, shorter = turned ? across : along;
    longer *= 0.5;
    vec3 a = textureGrad(textures, vec3(uv + 0.5 * longer, layer), longer, shorter).rgb;
    vec3 b = textureGrad(textures, vec3(uv - 0.5 * longer, layer), longer, shorter).rgb;
    return 0.5 * (a + b);
}

void main() {
    vec4 base = texelFetch(materials, ivec2(0, material), 0);
    vec4 look = texelFetch(materials, ivec2(1, material), 0);
    vec3 albedo = base.rgb;
    if (base.a >= 0.0) {
        vec3 sampled = texel(base.a, dFdx(uv), dFdy(uv));
        albedo *= sampled * sampled;   // close enough to the sRGB curve, and cheap
    }
    vec3 to_eye = view_direction == vec3(0.0) ? normalize(eye - position) : -view_direction;
    vec3 n = normalize(normal);
    if (dot(n, to_eye) < 0.0) n = -n;

    vec3 light = mix(ambient_down, ambient_up, n.z * 0.5 + 0.5);
    vec3 shine = vec3(0.0);
    for (int i = 0; i < lamp_count; ++i) {
        vec3 to_lamp = lamp_positions[i] - position;
        float square = dot(to_lamp, to_lamp);
        to_lamp *= inversesqrt(square);
        float facing = dot(n, to_lamp);
        if (facing <= 0.0) continue;
        float slope = sqrt(1.0 - facing * facing) / max(facing, 0.05);
        float strength = lamp_visibility(lamp_rows[i], lamp_positions[i], position, min(slope, 8.0)) / (square + 0.6);
        light += lamp_colours[i] * (facing * strength);
        float glint = pow(max(dot(n, normalize(to_lamp + to_eye)), 0.0), look.y);
        shine += lamp_colours[i] * (look.x * glint * strength);
    }
    float to_sun = dot(n, sun_direction);
    if (to_sun > 0.0) light += sun_colour * (to_sun * sun_visibility(position, n));

    vec3 linear = albedo * mix(light, vec3(1.6), look.z) + shine;
    linear *= exposure;
    linear = linear * (1.0 + linear * 0.12) / (1.0 + linear * 0.45);   // a gentle shoulder
    out_colour = vec4(pow(clamp(linear, 0.0, 1.0), vec3(1.0 / 2.2)), 1.0);
    out_depth = depth_m;
}
"""
)

SKY_VERTEX = """
#version 330
uniform mat3 map_from_ndc;
out vec3 ray;
void main() {
    vec2 corner = vec2((gl_VertexID & 1) * 4 - 1, (gl_VertexID >> 1) * 4 - 1);
    ray = map_from_ndc * vec3(corner, 1.0);
    gl_Position = vec4(corner, 0.999999, 1.0);
}
"""

SKY_FRAGMENT = """
#version 330
uniform vec3 zenith;
uniform vec3 horizon;
uniform vec3 ground;
uniform float clouds;            // 0 clear to 1 overcast
in vec3 ray;
layout(location = 0) out vec4 out_colour;
layout(location = 1) out float out_depth;

float hash(vec2 p) { return fract(sin(dot(p, vec2(127.1, 311.7))) * 43758.5453); }
float noise(vec2 p) {
    vec2 i = floor(p), f = fract(p);
    f = f * f * (3.0 - 2.0 * f);
    return mix(mix(hash(i), hash(i + vec2(1, 0)), f.x), mix(hash(i + vec2(0, 1)), hash(i + vec2(1, 1)), f.x), f.y);
}
float layers(vec2 p) {
    float sum = 0.0, weight = 0.5;
    for (int i = 0; i < 4; ++i) { sum += weight * noise(p); p = p * 2.03 + 17.0; weight *= 0.5; }
    return sum;
}
void main() {
    vec3 d = normalize(ray);
    vec3 colour = mix(horizon, zenith, pow(clamp(d.z, 0.0, 1.0), 0.55));
    if (d.z > 0.02) {
        float cover = smoothstep(0.62 - 0.4 * clouds, 0.85, layers(d.xy / d.z * 0.9 + 3.0) + 0.25 * clouds);
        colour = mix(colour, vec3(0.97), cover * smoothstep(0.02, 0.2, d.z));
    } else if (d.z < 0.0) {
        colour = mix(horizon, ground, smoothstep(0.0, -0.06, d.z));
    }
    out_colour = vec4(colour, 1.0);
    out_depth = uintBitsToFloat(0x7F800000u);   // infinity
}
"""
