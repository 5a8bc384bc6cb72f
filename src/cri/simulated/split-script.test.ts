import assert from 'node:assert/strict'
import { test } from 'node:test'
import { splitScript } from './split-script.ts'

/** Formats clauses as `when:word,word>target`. */
function shown(text: string): string {
  const clauses = splitScript(text)
  if (clauses === undefined) return 'unknown'
  return clauses
    .map(({ words, when, target }) => `${when}:${words.join(',')}${target === undefined ? '' : `>${target}`}`)
    .join(' ')
}

test('a shell script is split into commands', () => {
  const cases: Readonly<Record<string, string>> = {
    'sleep 1': 'always:sleep,1',
    'a; b && c || d\ne': 'always:a always:b success:c failure:d always:e',
    'echo "hello world" \'it is\'': 'always:echo,hello world,it is',
    'echo a"b c"d': 'always:echo,ab cd',
    'echo x > /dev/termination-log; exit 1': 'always:echo,x>/dev/termination-log always:exit,1',
    'echo x >>/log': 'always:echo,x>/log',
    'echo x >&2': 'always:echo,x>&2',
    'echo x 1>&2': 'always:echo,x>&2',
    'echo x 2>/dev/null': 'always:echo,x',
    'echo ""': 'always:echo,',
    '': 'always:',
    'echo $HOME': 'unknown',
    'echo "$HOME"': 'unknown',
    'a | b': 'unknown',
    'a & b': 'unknown',
    "echo 'open": 'unknown',
    '(a)': 'unknown',
  }
  for (const [text, expected] of Object.entries(cases)) assert.equal(shown(text), expected, text)
})

test('splitting long malformed scripts needs no backtracking', () => {
  assert.equal(splitScript("'".repeat(200_001)), undefined)
  assert.equal(splitScript('"a'.repeat(100_001)), undefined)
  assert.equal(splitScript(';'.repeat(100_000))?.length, 100_001)
})
