/** One command of a script. */
export interface Clause {
  readonly words: readonly string[]
  /** Condition on the exit code of the previous command. */
  readonly when: 'always' | 'success' | 'failure'
  /** Redirection target: `&2` or a file. */
  readonly target?: string
}

/** Undefined if the script contains anything but words, quotes, `;`, `&&`, `||` and `>`. */
export function splitScript(text: string): readonly Clause[] | undefined {
  const clauses: Clause[] = []
  let words: string[] = []
  let when: Clause['when'] = 'always'
  let target: string | undefined
  let redirection = ''
  for (const token of tokensOf(text)) {
    if (token === undefined) return undefined
    const operator = token.type === 'operator' ? operators[token.text] : undefined
    if (operator !== undefined) {
      clauses.push({ words, when, ...(target !== undefined && { target }) })
      words = []
      target = undefined
      when = operator
    } else if (token.type === 'operator') redirection = token.text
    else if (redirection !== '') {
      // No supported command writes to stderr, so redirecting it has no effect.
      if (!redirection.startsWith('2')) target = token.text
      redirection = ''
    } else words.push(token.text)
  }
  return [...clauses, { words, when, ...(target !== undefined && { target }) }]
}

const operators: Readonly<Record<string, Clause['when'] | undefined>> = {
  '\n': 'always',
  ';': 'always',
  '&&': 'success',
  '||': 'failure',
}

interface Token {
  readonly type: 'word' | 'operator'
  readonly text: string
}

/** Yields undefined, and then ends, at unsupported syntax. */
function* tokensOf(text: string): Generator<Token | undefined, void> {
  const pattern =
    /([^\S\n]+)|(\n|;|&&|\|\||[12]?>>?)|(&\d)|'([^']*)'|"([^"$`\\]*)"|([^\s;&|>'"$`\\<(){}*?]+)/y
  let word: string | undefined
  while (pattern.lastIndex < text.length) {
    const match = pattern.exec(text)
    if (match === null) return yield undefined
    const [, space, operator, descriptor, single, double, plain] = match
    if (space === undefined && operator === undefined) {
      word = `${word ?? ''}${descriptor ?? single ?? double ?? plain ?? ''}`
      continue
    }
    if (word !== undefined) yield { type: 'word', text: word }
    word = undefined
    if (operator !== undefined) yield { type: 'operator', text: operator }
  }
  if (word !== undefined) yield { type: 'word', text: word }
}
