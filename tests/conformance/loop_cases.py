# SPDX-License-Identifier: MIT
"""Small networks with functions, Scan, Loop and If, in ONNX's own text form. cases() yields
(name, model). What depends on an input cannot be folded, so `c = Less(ReduceMean(x), big)` is a
condition that holds but is known only when it has run."""
import onnx.parser

MADE = []


def case(name, body, inputs="float[2,3] x", outputs="float[?] y", constants="", opset=16, more=""):
    text = f"""<ir_version: 8, opset_import: ["" : {opset}, "own" : 1]>
net ({inputs}) => ({outputs})
{'<' + constants + '>' if constants else ''} {{ {body} }}
{more}"""
    model = onnx.parser.parse_model(text)
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")
    MADE.append((f"{name}, opset {opset}", model))


RUNTIME = """big = Constant <value_float = 100.0> () small = Constant <value_float = -100.0> ()
mean = ReduceMean <keepdims = 0> (x) yes = Less (mean, big) no = Less (mean, small)
"""


def scans():
    accumulate = """body = b (float[3] s, float[3] e) => (float[3] t, float[3] o)
        { t = Add (s, e) h = Tanh (t) o = Mul (h, e) }"""
    for v in (9, 11, 16, 19):
        case("Scan", f"last, y = Scan <num_scan_inputs = 1, {accumulate}> (init, x)",
             inputs="float[5,3] x", constants="float[3] init = {0.5, -1, 2}", opset=v,
             outputs="float[?] y, float[?] last")
    for axis in (0, 1, 2, -1):
        for back in (0, 1):
            for out in (0, 1, -1):
                case(f"Scan axis {axis} to {out} back {back}", f"""
    init = ReduceMean <axes = [{axis}], keepdims = 0> (x)
    last, y = Scan <num_scan_inputs = 1, scan_input_axes = [{axis}], scan_output_axes = [{out}],
        scan_input_directions = [{back}], scan_output_directions = [{1 - back}],
        body = b (float[?,?] s, float[?,?] e) => (float[?,?] t, float[?,?] o)
        {{ t = Sub (e, s) o = Tanh (t) }}> (init, x)""",
                     inputs="float[2,3,4] x", outputs="float[?] y, float[?] last")
    case("Scan two states, two inputs, captures, constants of the body", """
    twice = Add (x, x)
    p, q, y, z = Scan <num_scan_inputs = 2, scan_input_directions = [0, 1],
        scan_output_axes = [1, 0],
        body = b (float[3] s, float[3] r, float[3] e, float[3] f) =>
                 (float[3] s2, float[3] r2, float[3] o, float[?] u)
        <float[3] w = {1, 2, 3}>
        { k = Constant <value_float = 0.25> () a = Mul (e, k) s2 = Add (s, a) g = Mul (f, w)
          r2 = Sub (s, g) o = Identity (s2) u = MatMul (twice, r2) }> (i, j, x, twice)""",
         inputs="float[4,3] x", outputs="float[?] y, float[?] z, float[?] p, float[?] q",
         constants="float[3] i = {1, 0, -1}, float[3] j = {0, 0, 0}")
    case("Scan without states", """
    y = Scan <num_scan_inputs = 1, body = b (float[3] e) => (float[3] o) { o = Exp (e) }> (x)""",
         inputs="float[4,3] x")
    case("Scan swaps states", """
    p, q = Scan <num_scan_inputs = 1, body = b (float[3] s, float[3] r, float[3] e) =>
        (float[3] t, float[3] u) { t = Identity (r) u = Add (s, e) }> (i, j, x)
    y = Sub (p, q)""", inputs="float[5,3] x",
         constants="float[3] i = {1, 0, -1}, float[3] j = {0, 0, 4}")
    case("Scan in Scan", """
    last, y = Scan <num_scan_inputs = 1,
        body = b (float[3] s, float[4,3] e) => (float[3] t, float[4,3] o)
        { t, o = Scan <num_scan_inputs = 1,
            body = c (float[3] s1, float[3] e1) => (float[3] t1, float[3] o1)
            { t1 = Add (s1, e1) o1 = Mul (t1, s) }> (s, e) }> (init, x)""",
         inputs="float[5,4,3] x", outputs="float[?] y, float[?] last",
         constants="float[3] init = {0.5, -1, 2}")
    case("Scan with unused results", """
    a, b, y = Scan <num_scan_inputs = 1,
        body = b (float s, float[3] r, float[3] e) => (float s2, float[3] r2, float[3] o)
        { one = Constant <value_float = 1.0> () s2 = Add (s, one) r2 = Add (r, e)
          o = Relu (r2) }> (i, j, x)""", inputs="float[5,3] x",
         constants="float i = {0}, float[3] j = {0, 0, 4}")
    for back in (0, 1):
        case(f"Scan of a batch, back {back}", f"""
    last, y = Scan <num_scan_inputs = 1, directions = [{back}],
        body = b (float[3] s, float[3] e) => (float[3] t, float[3] o)
        {{ t = Add (s, e) h = Tanh (t) o = Mul (h, e) }}> (, init, x)""",
             inputs="float[1,5,3] x", outputs="float[?] y, float[?] last", opset=8,
             constants="float[1,3] init = {0.5, -1, 2}")
    case("Scan once", f"last, y = Scan <num_scan_inputs = 1, {accumulate}> (init, x)",
         inputs="float[1,3] x", constants="float[3] init = {0.5, -1, 2}",
         outputs="float[?] y, float[?] last")


def loops():
    count = "float[?] y"
    for v in (11, 13, 16, 21):
        case("Loop counts", """
    y, z = Loop <body = b (int64 i, bool c, float[2,3] s) => (bool d, float[2,3] t, float[2,3] o)
        { d = Identity (c) f = Cast <to = 1> (i) t = Add (s, f) o = Mul (t, x) }> (m, yes, x)""",
             constants="int64 m = {5}, bool yes = {1}", outputs="float[?] y, float[?] z", opset=v)
    case("Loop without condition", """
    y, z = Loop <body = b (int64 i, bool c, float[2,3] s) => (bool d, float[2,3] t, float[2,3] o)
        { d = Constant <value = bool {1}> () t = Add (s, x) o = Tanh (t) }> (m, , x)""",
         constants="int64 m = {4}", outputs="float[?] y, float[?] z")
    case("Loop while", RUNTIME + """
    y, n = Loop <body = b (int64 i, bool c, float[2,3] s, int64 k) =>
                          (bool d, float[2,3] t, int64 l)
        { half = Constant <value_float = 0.5> () limit = Constant <value_float = 0.01> ()
          t = Mul (s, half) a = Abs (t) e = ReduceMax <keepdims = 0> (a) d = Greater (e, limit)
          one = Constant <value = int64 {1}> () l = Add (k, one) }> (, yes, x, zero)
    z = Cast <to = 1> (n)""", constants="int64 zero = {0}", outputs="float[?] y, float[?] z")
    case("Loop while, constant condition at first", """
    y = Loop <body = b (int64 i, bool c, float[2,3] s) => (bool d, float[2,3] t)
        { t = Mul (s, half) a = Abs (t) e = ReduceMax <keepdims = 0> (a) d = Greater (e, limit) }>
        (, yes, x)""", constants="bool yes = {1}, float half = {0.5}, float limit = {0.03}")
    case("Loop not at all", RUNTIME + """
    y = Loop <body = b (int64 i, bool c, float[2,3] s) => (bool d, float[2,3] t)
        { d = Identity (c) t = Add (s, s) }> (m, no, x)""", constants="int64 m = {5}")
    case("Loop count at run time", """
    n = ReduceMax <keepdims = 0> (x) a = Abs (n) three = Constant <value_float = 3.0> ()
    b = Add (a, three) m = Cast <to = 7> (b)
    y = Loop <body = b (int64 i, bool c, float[2,3] s) => (bool d, float[2,3] t)
        { d = Identity (c) t = Add (s, x) }> (m, yes, x)""", constants="bool yes = {1}")
    case("Loop count and condition at run time", RUNTIME + """
    n = ReduceMax <keepdims = 0> (x) a = Abs (n) three = Constant <value_float = 3.0> ()
    b = Add (a, three) m = Cast <to = 7> (b)
    y = Loop <body = b (int64 i, bool c, float[2,3] s) => (bool d, float[2,3] t)
        { t = Add (s, x) g = ReduceMax <keepdims = 0> (t) d = Less (g, limit) }> (m, yes, x)""",
         constants="float limit = {2.5}")
    case("Loop count that folds", """
    s = Shape (x) m1 = Gather (s, one) two = Constant <value_ints = [2]> () m2 = Mul (m1, two)
    m = Squeeze (m2)
    y = Loop <body = b (int64 i, bool c, float[2,3] s1) => (bool d, float[2,3] t)
        { d = Identity (c) t = Add (s1, x) }> (m, yes, x)""",
         constants="bool yes = {1}, int64[1] one = {1}")
    case("Loop of no trips", """
    z = Loop <body = b (int64 i, bool c, float[2,3] s) => (bool d, float[2,3] t)
        { d = Identity (c) t = Add (s, x) }> (m, , x)
    y = Relu (z)""", constants="int64 m = {0}")
    case("Loop picks rows by iteration", """
    z, y = Loop <body = b (int64 i, bool c, float[3] s) => (bool d, float[3] t, float[3] o)
        { d = Identity (c) r = Gather <axis = 0> (x, i) t = Add (s, r) o = Softmax (t) }>
        (m, yes, init)""", inputs="float[6,3] x", outputs="float[?] y, float[?] z",
         constants="int64 m = {6}, bool yes = {1}, float[3] init = {0, 0, 0}")
    case("Loop slices by iteration", """
    z, y = Loop <body = b (int64 i, bool c, float[2,3] s) => (bool d, float[2,3] t, float[2,3] o)
        { d = Identity (c) one = Constant <value = int64 {1}> () three = Constant <value_ints = [3]> ()
          ax = Constant <value_ints = [0]> () j = Add (i, one) a = Unsqueeze (j, ax)
          e = Add (a, three) r = Slice (x, a, e, ax) p = Unsqueeze (i, ax) q = Unsqueeze (j, ax)
          u = Slice (x, p, q, ax) t = ReduceSum <keepdims = 0> (r, ax) v = Add (s, t)
          o = Mul (v, u) }> (m, yes, init)""", inputs="float[6,2,3] x",
         outputs="float[?] y, float[?] z",
         constants="int64 m = {3}, bool yes = {1}, float[2,3] init = {0, 0, 0, 1, 1, 1}")
    case("Loop of lists of one", """
    y = Loop <body = b (int64[1] i, bool[1] c, float[2,3] s) => (bool[1] d, float[2,3] t)
        { d = Identity (c) f = Cast <to = 1> (i) t = Add (s, f) }> (m, yes, x)""",
         constants="int64[1] m = {5}, bool[1] yes = {1}")
    case("Loop in Loop", """
    y, z = Loop <body = b (int64 i, bool c, float[2,3] s) => (bool d, float[2,3] t, float[2,3] o)
        { d = Identity (c) three = Constant <value = int64 {3}> ()
          t = Loop <body = e (int64 j, bool f, float[2,3] u) => (bool g, float[2,3] v)
              { g = Identity (f) h = Add (i, j) k = Cast <to = 1> (h) l = Mul (k, x)
                v = Add (u, l) }> (three, c, s)
          o = Sub (t, s) }> (m, yes, x)""",
         constants="int64 m = {4}, bool yes = {1}", outputs="float[?] y, float[?] z")
    case("Loop with If", """
    y = Loop <body = b (int64 i, bool c, float[2,3] s) => (bool d, float[2,3] t)
        { d = Identity (c) two = Constant <value = int64 {2}> () odd1 = Mod (i, two)
          odd = Cast <to = 9> (odd1)
          t = If (odd) <then_branch = p () => (float[2,3] u) { u = Add (s, x) },
                        else_branch = q () => (float[2,3] v) { v = Mul (s, x) }> }> (m, yes, x)""",
         constants="int64 m = {5}, bool yes = {1}")
    case("Loop passes a state on and takes one from around", """
    w = Exp (x)
    y, z = Loop <body = b (int64 i, bool c, float[2,3] s, float[2,3] r) =>
                          (bool d, float[2,3] t, float[2,3] u)
        { d = Identity (c) t = Identity (r) u = Identity (w) }> (m, yes, x, x)""",
         constants="int64 m = {2}, bool yes = {1}", outputs="float[?] y, float[?] z")
    case("two Loops in a row, same names", """
    a = Loop <body = b (int64 i, bool c, float[2,3] s) => (bool d, float[2,3] t)
        { d = Identity (c) t = Add (s, x) }> (m, yes, x)
    y = Loop <body = b (int64 i, bool c, float[2,3] s) => (bool d, float[2,3] t)
        { d = Identity (c) t = Mul (s, x) }> (m, yes, a)""",
         constants="int64 m = {3}, bool yes = {1}", outputs=count)
    case("Loop and open batch", """
    y = Loop <body = b (int64 i, bool c, float[?,3] s) => (bool d, float[?,3] t)
        { d = Identity (c) t = Add (s, x) }> (m, yes, x)""", inputs="float[N,3] x",
         constants="int64 m = {3}, bool yes = {1}", outputs=count)


def branches():
    both = """<then_branch = p () => (float[2,3] u) { u = Add (x, x) },
              else_branch = q () => (float[2,3] v) { w = Relu (x) v = Exp (w) }>"""
    for v in (11, 13, 16, 19, 21):
        for which in ("yes", "no"):
            if v < 18:
                case(f"If {which} at run time", RUNTIME + f"y = If ({which}) {both}", opset=v)
        for value in (0, 1):
            case(f"If {value}", f"y = If (c) {both}", constants=f"bool c = {{{value}}}", opset=v)
    case("If chooses by a shape", """
    s = Shape (x) r = Size (s) two = Constant <value = int64 {2}> () c = Equal (r, two)
    y = If (c) <then_branch = p () => (float[2,3] u) { u = Neg (x) },
        else_branch = q () => (float[2,1] v) { v = ReduceSum (x) }>""")
    case("If gives outer values, constants, two results", RUNTIME + """
    w = Exp (x)
    y, z = If (yes) <then_branch = p () => (float[2,3] a, float[2,3] b)
            { a = Identity (w) b = Identity (k) },
        else_branch = q () => (float[2,3] a, float[2,3] b) { a = Identity (k) b = Identity (x) }>""",
         outputs="float[?] y, float[?] z", constants="float[2,3] k = {1, 2, 3, 4, 5, 6}")
    case("If with an unused result", RUNTIME + """
    a, y = If (no) <then_branch = p () => (float[2,3] a1, float[2,3] b1)
            { a1 = Exp (x) b1 = Neg (x) },
        else_branch = q () => (float[2,3] a2, float[2,3] b2) { a2 = Neg (x) b2 = Exp (x) }>""")
    case("If in If", RUNTIME + """
    y = If (yes) <then_branch = p () => (float[2,3] u)
        { g = Exp (x) u = If (no) <then_branch = r () => (float[2,3] a) { a = Add (g, x) },
                                   else_branch = s () => (float[2,3] b) { b = Sub (g, x) }> },
        else_branch = q () => (float[2,3] v) { v = Neg (x) }>""")
    case("If with a Loop", RUNTIME + """
    y = If (yes) <then_branch = p () => (float[2,3] u)
        { m = Constant <value = int64 {3}> () t = Constant <value = bool {1}> ()
          u = Loop <body = b (int64 i, bool c, float[2,3] s) => (bool d, float[2,3] e)
              { d = Identity (c) e = Add (s, x) }> (m, t, x) },
        else_branch = q () => (float[2,3] v) { v = Neg (x) }>""")
    case("If inside and outside share a name", RUNTIME + """
    t = Exp (x)
    a = If (yes) <then_branch = p () => (float[2,3] u) { n = Add (t, x) u = Abs (n) },
        else_branch = q () => (float[2,3] u) { n = Mul (t, x) u = Abs (n) }>
    y = Add (a, t)""")


FUNCTIONS = """
<opset_import: ["" : 16], domain: "own">
scaled <factor, bias> (a) => (b)
{ k = Constant <value_float: float = @factor> () c = Mul (a, k)
  d = Constant <value_float: float = @bias> () b = Add (c, d) }
<opset_import: ["" : 16], domain: "own">
leaky <slope> (a) => (b) { b = LeakyRelu <alpha: float = @slope> (a) }
<opset_import: ["" : 16, "own" : 1], domain: "own">
stack <s> (a, c) => (b, d)
{ t = own.scaled <factor: float = @s, bias: float = @s> (a) b = own.leaky <slope = 0.3> (t)
  d = Sub (b, c) }
<opset_import: ["" : 16], domain: "own">
soft <axis> (a) => (b) { b = Softmax <axis: int = @axis> (a) }
<opset_import: ["" : 16], domain: "own">
choose <m> (a) => (b)
{ z = Constant <value_float = -100.0> () e = ReduceMean <keepdims = 0> (a) c = Greater (e, z)
  b = If (c) <then_branch = p () => (float[?,?] u) { k = Constant <value_float: float = @m> ()
          u = Mul (a, k) },
      else_branch = q () => (float[?,?] v) { v = Neg (a) }> }
<opset_import: ["" : 16], domain: "own">
clipped (a, lo, hi) => (b) { b = Clip (a, lo, hi) }
"""


def functions():
    case("function", "y = own.scaled <factor = 2.0, bias = -0.5> (x)", more=FUNCTIONS)
    case("function twice", """t = own.scaled <factor = 2.0, bias = -0.5> (x)
         y = own.scaled <factor = -1.0, bias = 3.0> (t)""", more=FUNCTIONS)
    case("function of functions", "y, z = own.stack <s = 0.75> (x, x)", more=FUNCTIONS,
         outputs="float[?] y, float[?] z")
    case("function, one result unused", "a, y = own.stack <s = 0.75> (x, x)", more=FUNCTIONS)
    case("function without its attribute", "y = own.soft (x)", more=FUNCTIONS)
    case("function with its attribute", "y = own.soft <axis = 0> (x)", more=FUNCTIONS)
    case("function with an If", "y = own.choose <m = 3.0> (x)", more=FUNCTIONS)
    case("function without its last inputs", "y = own.clipped (x, lo)", more=FUNCTIONS,
         constants="float lo = {-0.25}")
    case("function without an input in between", "y = own.clipped (x, , hi)", more=FUNCTIONS,
         constants="float hi = {0.25}")
    case("function in a Loop", """
    y = Loop <body = b (int64 i, bool c, float[2,3] s) => (bool d, float[2,3] t)
        { d = Identity (c) a = own.scaled <factor = 0.5, bias = 1.0> (s) t = Add (a, x) }>
        (m, yes, x)""", constants="int64 m = {3}, bool yes = {1}", more=FUNCTIONS)


def cases():
    MADE.clear()
    for family in (scans, loops, branches, functions):
        family()
    return list(MADE)


if __name__ == "__main__":
    print(len(cases()))
