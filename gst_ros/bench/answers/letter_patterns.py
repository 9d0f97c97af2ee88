"""The patterns by which :mod:`gst_ros.bench.answers.letters` tells what is said of a letter.

``*_BEFORE`` patterns end where the letter begins, and ``*_AFTER`` patterns start where it ends; both look at short
pieces of text only.
"""

from __future__ import annotations

import re

NOUN = r"(?:option|choice|answer|image|picture|figure|plan|map|letter|trajectory|diagram|candidate|path|view|layout)s?"
OPEN, SHUT = r"[(\[{\"'<]{0,2}", r"[)\]}\"'>]{0,2}"

TOKEN = re.compile(
    r"(?<![\w&.@#$%^'\\])(?<!\w-)[A-Za-z](?![\w&@#%^+'\\]|-\w|\.\w)|(?<=[\u3040-\u9fff])[A-Z](?![A-Za-z0-9])"
)
BARE = re.compile(
    r"(?:(?:maybe|perhaps|possibly|probably|most likely|likely|definitely|so|thus|therefore|hence|it's|it is|i think"
    r"|i believe|i guess)[, ] ?){0,3}"
    rf"(?:the )?(?:{NOUN} ?:? ?)?{OPEN}([A-Za-z]){SHUT}[.,;!?)]{{0,2}}{SHUT}",
    re.I,
)
HEADING = re.compile(rf"{NOUN} ?{OPEN}[A-Z]{SHUT}", re.I)
LEAD = re.compile(
    rf"(?:(?:definitely|probably|likely|clearly|most likely|either|both|the|is|be|la|el|die|der|das|le|l'"
    r"|opci[oó]n)(?: |$)){0,2}"
    rf"(?:{NOUN} ?:? ?)?({OPEN})([A-Za-z])({SHUT})(?![\w'&]|-\w|\.\w)",
    re.I,
)
# What may follow a leading letter that opens an explanation. "A red path" is an article; "A because" is not.
AFTER_LEAD = re.compile(
    rf"{SHUT}(?:$|\n|[.:;!)—-]|,| [-—(\"]"
    r"| (?:because|since|as|due|for the reason|rather|instead|over)\b)"
)
VERB_AFTER = re.compile(
    r" (?:is|was|are|has|have|had|does|do|did|can|could|would|will|should|must|might|may|cannot|because|since|as|and|or"
    r"|but|nor|not|in|on|at|to|by|if|than|then|while|which|that|who|the|with|matches|match|fits"
    r"|shows|show|depicts|looks|look|seems|seem|appears|appear|corresponds|contains|lacks|fails|remains"
    r"|starts|ends|best|most|also|only|too|wins|agrees|aligns|resembles|vs|versus|over|instead)\b"
)
STRONG_CONTEXT = re.compile(rf"(?:\b{NOUN} ?:? ?{OPEN}|[(\[{{\"'])\Z", re.I)
OTHER_THING = re.compile(
    r"\b(?:points?|rooms?|doors?|exits?|vitamin|grade|class|type|walls?|zones?|areas?|corridors?|buildings?|gates?"
    r"|sections?|positions?|locations?|spots?|nodes?|vertex|corners?|step|phase|part|appendix|hepatitis|team|floor"
    r"|place|start|end|landmarks?|hall|wing|block|plan from) ?\Z",
    re.I,
)
JOIN = re.compile(
    rf"{SHUT} ?(?:,? ?(?:or|and|nor|and/or|as well as)|,|/|&|vs\.?|versus)"
    rf"(?: (?:maybe|perhaps|possibly|even|also))? ?(?:{NOUN} ?)?{OPEN}",
    re.I,
)
PATH = re.compile(rf"{SHUT} ?(?:to|→|-|—|through|until) ?(?:{NOUN} ?|points? ?)?{OPEN}", re.I)

FILL = (
    rf"(?: ?(?:be|is|as|to|the|a|an|either|both|for|with|{NOUN}|clearly|definitely|probably|most likely|likely|only))"
)
NOT_BEFORE = re.compile(
    r"(?:\bnot|n't|\bnever|\bneither|\bnor|\brul(?:e|es|ed|ing) out|\beliminat\w{1,4}|\bexclud\w{1,4}|\breject\w{0,3}"
    r"|\bdiscard\w{0,3}|\bdismiss\w{0,3}|\bunlike|\binstead of|\brather than|\bexcept|\bother than|\bthan|\bcannot"
    r"|\bwrong|\bincorrect|\bavoid|\bwithout(?! a doubt)|\bno longer|\banything but|\bleast \w{1,12}"
    r"|\b(?:eliminat|exclud|discard)\w{1,4} (?:one|it),? (?:it )?(?:would be|is)"
    r"|\b(?:trap|opposite) (?:answer|option|choice)"
    r"|(?:(?<!no )(?<!a )\bdoubt\w{0,4}|\bunlikely|\bnot (?:true|certain|sure|clear|the case))(?: (?:that|if|whether))?"
    r"|\b(?:nobody|no one|no-one|who|why|hardly anyone)(?: (?:would|should|could|will|did|else))?"
    r"|\b(?:wrong|worst|incorrect|false|least \w{1,12}|worse) (?:one|option|answer|choice|match|image)"
    r"(?: is| would be)?)"
    rf"(?: (?:choose|pick|select|match|fit|say|think|it's|it is|go with))?{FILL}{{0,3}} ?{OPEN}\Z",
    re.I,
)
NEGATIVE = (
    r"(?:not|n't|wrong|incorrect|false|ruled out|out\b|eliminated|excluded|rejected|unlikely|impossible|inconsistent"
    r"|different|cannot|can't|doesn't|don't|isn't|aren't|wasn't|won't|didn't|does not|lacks?|lacking|fails?|too\b|no\b"
    r"|missing|invalid|mismatch\w{0,5}|contradicts?|never|worse|opposite|✗|✘|❌|×)"
)
NOT_AFTER = re.compile(
    rf"{SHUT} ?(?:,? ?(?:which|that|and|because it|as it|since it|but (?:it|that|this)) )?(?:[:(—=-] ?)?"
    r"(?:(?:is|are|was|were|seems?|looks?|appears?|can|could|would|does|do|did|has|have|shows?|depicts?|must|should"
    r"|will|may) ?)?(?:(?:be|to be|also|clearly|definitely|obviously|both|all|probably|a|an|the|very|completely"
    rf"|quite|therefore|thus|just) ){{0,3}}{NEGATIVE}",
    re.I,
)
CHOSEN_BEFORE = re.compile(
    r"(?:\b(?:choose|chose|choosing|select|selecting|pick|picking|go with|going with|opt for|opting for|prefer|favou?r"
    r"|guess|vote for|lean(?:ing)? towards?|conclude|settle on"
    r"|(?:i )?(?:think|believe|say)(?: that)?(?: it(?:'s| is))?)"
    r"|\b(?:so|therefore|thus|hence|then|consequently|accordingly|leaves?|leaving|left with|but|conclusion|overall)"
    r",?(?: (?:it's|it is|it must be|this is|that is|that's|i'd say|only|we have|the best is))?"
    rf"|\b(?:it's|it is|that's|this is|that is|must be|should be|would be|could only be|has to be|{NOUN} is|one is"
    rf"|match is|fit is|map is|answer)){FILL}{{0,3}} ?{OPEN}\Z",
    re.I,
)
IS_BEFORE = re.compile(rf"\b(?:is|would be){FILL}{{0,3}} ?{OPEN}\Z", re.I)
IS_THING = re.compile(
    r"\b(?:start|end|point|room|door|corner|position|location|goal|destination)\w{0,3} is [^.]{0,12}\Z", re.I
)
BUT_BEFORE = re.compile(r"\b(?:but|so|then)(?: ?rather)? ?(?:for |with )?(?:option |image )?[(\"']?\Z", re.I)
COLON_BEFORE = re.compile(rf"[:→✓✔✅] ?{OPEN}\Z")
PRAISED_BEFORE = re.compile(
    r"\b(?:match(?:es)?|corresponds?|consistent|closest|closer|agrees|aligns?|fits?|points|resembles)"
    rf"(?: best| most closely)?(?: to| with| in)?{FILL}{{0,2}} ?{OPEN}\Z",
    re.I,
)
PRAISED_AFTER = re.compile(
    rf"{SHUT} ?(?:[:(—=-] ?)?"
    r"(?:(?:is|are|seems|looks|appears|would be|must be|should be|has to be|remains)(?: to be)? )?"
    r"(?:(?:clearly|definitely|most likely|probably|indeed|the|an|a|my|also|therefore|thus|only|closely|exactly"
    r"|perfectly|single|best|most|more) ){0,4}"
    r"(?:correct|right(?! next| of| behind| side| at| in| hand)|best|better|closest|answer|match(?:es)?|true"
    r"|one that (?:fits|matches)|consistent|winner|choice"
    r"|has it right|gets it right|has everything right"
    r"|same|identical|fits?|corresponds|aligns|agrees|✓|✔|✅)"
    rf"|{SHUT} (?:shows|has|depicts|displays) (?:exactly )?(?:the |a )?(?:same|identical|matching|correct)"
    r" (?:layout|scene|path|plan|structure|map|trajectory|route|shape|floor)",
    re.I,
)
CLAUSE_END = re.compile(r"[.!?;\n]|,? (?:because|since|while|whereas|but|although|though|as) |, ")
END_OF_TEXT = re.compile(rf"{SHUT}[.!]?\s?{SHUT}$")
LIST_ITEM = re.compile(rf"\n(?:{NOUN} )?\(?([A-Z])[.):]", re.I)
# A choice that is no longer, or not really, made; and the second of a ranking.
TENTATIVE_BEFORE = re.compile(
    r"\b(?:(?:one|you|people|someone|some|many|an? \w{1,12} (?:observer|viewer|person|reader))"
    r" (?:might|may|could|would)"
    r"|tempt\w{1,4} to|almost|nearly|at first|first,? i|initially|i (?:first|initially|originally)|originally"
    r"|at first glance,?"
    r"|my (?:first|initial) (?:thought|guess|impression)(?: was)?|previously)"
    rf"(?: (?:i|we|be|to|say|choose|chose|pick|picked|select|selected|guess|guessed|think|thought|go|went|went with"
    rf"|prefer|it|was|is|that|with|for)){{0,5}}{FILL}{{0,3}} ?{OPEN}\Z",
    re.I,
)
RANKED_BEFORE = re.compile(
    r"\b(?:second|2nd|third|3rd|fourth|4th|next|runner-up|alternatively|alternative|backup|fallback)\b[^.,;\n]{0,24}\Z",
    re.I,
)
BUT_WRONG_AFTER = re.compile(
    rf"{SHUT} ?[,;—-]? ?but (?:it|that|this)(?: is|'s| was| would be) (?:wrong|incorrect|false|not)\b", re.I
)
# What takes praise back within its sentence ("the correct layout but the wrong bedroom").
TAKEN_BACK = re.compile(
    r"[^.!?;\n]{0,80}?(?:\bbut\b|\bexcept\b|\bapart from\b|\baside from\b|\bhowever\b|\bat first\b|\byet\b"
    r"|\bonly partly\b|\bsave for\b)",
    re.I,
)
REVISION = re.compile(
    r"\b(?:wait|actually|correction|on second thought|no,|let me re|reconsider|hmm|instead(?! of)|rather(?! than)"
    r"|on (?:closer )?(?:reflection|inspection)|scratch that|let me double)",
    re.I,
)
