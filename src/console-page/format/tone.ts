/** How good a state is. It is always shown with its text, never by colour alone. */
export type Tone = 'good' | 'busy' | 'warn' | 'bad' | 'idle'

/** Words in lower case; several words make one state where they are joined with a comma. */
const tones: Readonly<Record<Tone, string>> = {
  good: `running ready active bound available complete completed succeeded established approved,issued
    healthy accepted programmed normal`,
  busy: `pending containercreating podinitializing progressing terminating released schedulinggated suspended
    reconciling waiting`,
  warn: 'unknown schedulingdisabled notready warning unavailable nodelost shutdown',
  bad: `failed error crashloopbackoff imagepullbackoff errimagepull evicted oomkilled lost denied
    containerstatusunknown unschedulable degraded nodeaffinity`,
  idle: '<none>',
}

const toneOfWord = new Map(
  Object.entries(tones).flatMap(([tone, words]) =>
    words.split(/\s+/).map(word => [word, tone as Tone] as const),
  ),
)

const statusColumns: ReadonlySet<string> = new Set([
  'status',
  'phase',
  'state',
  'type',
  'condition',
  'conditions',
])

/** The tone of a cell of a table; undefined for columns that show no state. */
export function toneOfCell(column: string, text: string): Tone | undefined {
  const name = column.toLowerCase()
  if (statusColumns.has(name)) return toneOfStatus(text)
  if (name === 'ready' || name === 'completions') return toneOfFraction(text)
  if (name === 'available' && (text === 'True' || text === 'False')) return text === 'True' ? 'good' : 'bad'
  if (name === 'restarts') return Number.parseInt(text, 10) > 0 ? 'warn' : undefined
  return undefined
}

/** `Ready,SchedulingDisabled` has the worst tone of its parts; `Init:0/1` is in progress, `Init:Error` is not. */
export function toneOfStatus(text: string): Tone | undefined {
  const whole = text.toLowerCase()
  const known = toneOfWord.get(whole)
  if (known) return known
  if (/^init:\d+\/\d+$/.test(whole)) return 'busy'
  const parts = whole.split(/[,:]/).flatMap(part => toneOfWord.get(part) ?? [])
  const worst = (['bad', 'warn', 'busy', 'good'] as const).find(tone => parts.includes(tone))
  if (worst) return worst
  return /backoff|error|err|invalid|fail/.test(whole) ? 'bad' : undefined
}

/** `2/3`: ready of wanted. */
function toneOfFraction(text: string): Tone | undefined {
  const match = /^(\d+)\/(\d+)$/.exec(text)
  if (match === null) return text === 'True' ? 'good' : text === 'False' ? 'warn' : undefined
  const ready = Number(match[1])
  const wanted = Number(match[2])
  if (wanted === 0) return 'idle'
  return ready >= wanted ? 'good' : 'warn'
}

/** Conditions whose absence is the good state. */
const negativeConditions =
  /pressure|unavailable|failure|failed|degraded|stalled|dangling|conflict|disruption|violat/i

export function toneOfCondition(type: string, status: string): Tone {
  if (status === 'Unknown') return 'warn'
  const isNegative = negativeConditions.test(type)
  if (status === 'True') return isNegative ? 'bad' : 'good'
  return isNegative ? 'good' : 'warn'
}
