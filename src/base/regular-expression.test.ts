import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { compileRegularExpression, RegularExpressionError } from './regular-expression.ts'

test("invalid regular expressions are rejected with Go's messages", () => {
  const check = (pattern: string, reason: string, fragment = pattern): void => {
    assert.throws(() => compileRegularExpression(pattern), {
      name: 'RegularExpressionError',
      message: `error parsing regexp: ${reason}: \`${fragment}\``,
    })
  }
  check('(', 'missing closing )')
  check('a(b', 'missing closing )')
  check('a|(b|', 'missing closing )')
  check(')', 'unexpected )')
  check('(a))', 'unexpected )')
  check('a[b-', 'missing closing ]', '[b-')
  check('[]', 'missing closing ]')
  check('[^', 'missing closing ]')
  check('[z-a]', 'invalid character class range', 'z-a')
  check('[[:digits:]]', 'invalid character class range', '[:digits:]')
  check('\\p{Klingon}', 'invalid character class range')
  check('\\p{L', 'invalid character class range')
  check('\\pX', 'invalid character class range')
  check('\\p', 'invalid character class range')
  check('a\\', 'trailing backslash at end of expression', '')
  check('\\8', 'invalid escape sequence')
  check('(a)\\1', 'invalid escape sequence', '\\1')
  check('\\Z', 'invalid escape sequence')
  check('\\C', 'invalid escape sequence')
  check('\\é', 'invalid escape sequence')
  check('\\xg0', 'invalid escape sequence')
  check('\\x{110000}', 'invalid escape sequence', '\\x{110000')
  check('\\x{}', 'invalid escape sequence')
  check('\\x{12', 'invalid escape sequence')
  check('[\\b]', 'invalid escape sequence', '\\b')
  check('*', 'missing argument to repetition operator')
  check('a|+?', 'missing argument to repetition operator', '+?')
  check('(?i)*', 'missing argument to repetition operator', '*')
  check('(*)', 'missing argument to repetition operator', '*')
  check('\\Q\\E*', 'missing argument to repetition operator', '*')
  check('a**', 'invalid nested repetition operator', '**')
  check('a*?+', 'invalid nested repetition operator', '*?+')
  check('a{2}{3}', 'invalid nested repetition operator', '{2}{3}')
  check('a{1001}', 'invalid repeat count', '{1001}')
  check('a{2,1}?', 'invalid repeat count', '{2,1}')
  check('a{99999999999999999999}', 'invalid repeat count', '{99999999999999999999}')
  check('((a{100}){100})', 'invalid repeat count', '{100}')
  check('((((((((((x{2}){2}){2}){2}){2}){2}){2}){2}){2}){2})', 'invalid repeat count', '{2}')
  check('(?=a)', 'invalid or unsupported Perl syntax', '(?=')
  check('(?!a)', 'invalid or unsupported Perl syntax', '(?!')
  check('(?i-)a', 'invalid or unsupported Perl syntax', '(?i-)')
  check('(?x)', 'invalid or unsupported Perl syntax', '(?x')
  check('(?', 'invalid or unsupported Perl syntax')
  check('(?<=a)', 'invalid named capture')
  check('(?P<a b>c)', 'invalid named capture', '(?P<a b>')
  check('(?P<>c)', 'invalid named capture', '(?P<>')
  check('\ud800', 'invalid UTF-8')
  check('('.repeat(1000) + ')'.repeat(1000), 'expression nests too deeply')
  check('(?:(?:[a-z]{1000}b){1,1}c|\\d{1000})'.repeat(40), 'expression too large')
  check('(a)'.repeat(2_000), 'expression too large')
})

test('matches are leftmost-first', () => {
  /**
   * Expected: `start-end` of the match and of each group, or `-` for no match; `.` for a group that did not
   * participate.
   */
  const check = (pattern: string, text: string, expected: string): void => {
    const expression = compileRegularExpression(pattern)
    const match = expression.match(text)
    const groups = match?.groups.map(each => each ?? '.').join('|')
    assert.equal(match === undefined ? '-' : `${match.start}-${match.end} ${groups}`, expected, pattern)
    assert.equal(expression.test(text), expected !== '-', pattern)
  }
  check('a+', 'baaac', '1-4 aaa')
  check('a+?', 'baaac', '1-2 a')
  check('(?U)a+', 'baaac', '1-2 a')
  check('(?U)a+?', 'baaac', '1-4 aaa')
  check('a|ab', 'ab', '0-1 a')
  check('ab|a', 'ab', '0-2 ab')
  check('(a+)(b+)?', 'xaab', '1-4 aab|aa|b')
  check('(a)|(b)', 'b', '0-1 b|.|b')
  check('(?P<year>\\d{4})-(?<month>\\d\\d)', 'on 2024-05', '3-10 2024-05|2024|05')
  check('(|a)*', 'aa', '0-0 |')
  check('(a*)*', 'b', '0-0 |')
  check('(a|b)*', 'abb', '0-3 abb|b')
  check('^abc$', 'abc', '0-3 abc')
  check('^abc$', 'abc\n', '-')
  check('^b', 'a\nb', '-')
  check('(?m)^b$', 'a\nb\nc', '2-3 b')
  check('(?m)a$', 'xa\nb', '1-2 a')
  check('\\Ab|c\\z', 'abc', '2-3 c')
  check('\\bfoo\\b', 'a foo!', '2-5 foo')
  check('\\bfoo\\b', 'afoo', '-')
  check('o\\B', 'foo bar', '1-2 o')
  check('\\b', 'é', '-')
  check('.', '\n', '-')
  check('(?s).', '\n', '0-1 \n')
  check('a.c', 'a😀c', '0-4 a😀c')
  check('[^a]', '😀', '0-2 😀')
  check('[^a]', '\n', '0-1 \n')
  check('[\\x{1F600}-\\x{1F64F}]', '-😀', '1-3 😀')
  check('\\x41\\101\\0', 'AA\0', '0-3 AA\0')
  check('[]a]+', ']a', '0-2 ]a')
  check('[a\\]]+', ']a', '0-2 ]a')
  check('[a-]+', '-a', '0-2 -a')
  check('[--a]+', '-9a', '0-3 -9a')
  check('[[:^alpha:][:upper:]]+', 'a1B', '1-3 1B')
  check('[\\d\\-\\W]+', 'x1-.', '1-4 1-.')
  check('\\s', '\v', '-')
  check('[[:space:]]', '\v', '0-1 \v')
  check('\\Qa.b\\E+', 'a.bbb', '0-5 a.bbb')
  check('a{,2}', 'aa{,2}', '1-6 a{,2}')
  check('a{2', 'a{2', '0-3 a{2')
  check('a{02}', 'a{02}', '0-5 a{02}')
  check('a{2}', 'aaa', '0-2 aa')
  check('a{2,}', 'aaa', '0-3 aaa')
  check('a{1,2}?b', 'aab', '0-3 aab')
  check('a{0}b', 'ab', '1-2 b')
  check('^*a', 'ba', '1-2 a')
  check('a|', 'b', '0-0 ')
  check('', 'abc', '0-0 ')
  check('(?i)straße', 'STRAẞE', '0-6 STRAẞE')
  check('(?i)k', '\u212a', '0-1 \u212a')
  check('(?i)[^k]', 'K', '-')
  check('(?i:a)b', 'AB', '-')
  check('(?i:a)b', 'Ab', '0-2 Ab')
  check('a(?i)b|c', 'C', '0-1 C')
  check('(?i)a(?-i)b', 'AB', '-')
  check('\\p{Greek}+', 'aλόγος', '1-6 λόγος')
  check('\\pL\\PL', 'é1', '0-2 é1')
  check('\\p{^lowercase letter}', 'aB', '1-2 B')
  check('[\\p{Lu}\\p{Nd}]+', 'xÄ٣', '1-3 Ä٣')
  check('(?i)\\p{Lu}', 'a', '0-1 a')
  check('\\p{Any}', '\u{10ffff}', '0-2 \u{10ffff}')
  check('[^\\p{Any}]', 'a', '-')
  check('foo[0-9]+', 'foofoo12', '3-8 foo12')
  check('x*', '', '0-0 ')
})

test('group names are listed in order', () => {
  const { groupNames } = compileRegularExpression('(?P<a>x)(y)(?:z)(?<a>w)')
  assert.deepEqual(groupNames, ['', 'a', '', 'a'])
})

test('successive matches do not overlap', () => {
  const check = (pattern: string, text: string, expected: string, countMax = 100): void => {
    const found = compileRegularExpression(pattern).matchAll(text, countMax)
    assert.equal(found.map(({ start, end }) => `${start}-${end}`).join(' '), expected, pattern)
  }
  check('a', 'abaa', '0-1 2-3 3-4')
  check('a', 'abaa', '0-1 2-3', 2)
  check('a', 'abaa', '', 0)
  check('a*', 'baac', '0-0 1-3 4-4')
  check('a*|b', 'ab', '0-1 2-2')
  check('', 'a😀', '0-0 1-1 3-3')
  check('^a', 'aa', '0-1')
  check('\\b', 'ab c', '0-0 2-2 3-3 4-4')
  check('(?m)^', 'a\nb', '0-0 2-2')
})

test('matches agree with the JavaScript engine', () => {
  const atom = fc.constantFrom(
    'a',
    'b',
    'c',
    '.',
    '[ab]',
    '[^a]',
    '\\d',
    '\\w',
    '\\b',
    '\\B',
    '^',
    '$',
    '\\n',
    'é',
    '😀',
  )
  const { pattern } = fc.letrec<{ pattern: string }>(tie => ({
    pattern: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      atom,
      fc.tuple(tie('pattern'), tie('pattern')).map(([a, b]) => a + b),
      fc.tuple(tie('pattern'), tie('pattern')).map(([a, b]) => `(?:${a}|${b})`),
      // JavaScript discards captures of an empty loop iteration, so repeated patterns are never empty here.
      fc
        .tuple(tie('pattern'), fc.constantFrom('*', '+', '?', '*?', '+?', '{2}', '{1,2}', '{2,}?'))
        .map(([a, b]) => `(?:x${a}|[aé]${a})${b}`),
    ),
  }))
  const text = fc.string({
    // JavaScript finds word boundaries between surrogate halves too, so the texts have no surrogates.
    unit: fc.constantFrom('a', 'b', 'c', 'x', '1', 'é', 'Ω', '\n', ' '),
    maxLength: 12,
  })
  fc.assert(
    fc.property(pattern, fc.constantFrom('', 'i', 's', 'm'), text, (source, flags, subject) => {
      const ours = compileRegularExpression(flags === '' ? source : `(?${flags})${source}`)
      // JavaScript's dot also excludes other line terminators, which the texts do not contain.
      const theirs = new RegExp(source, `gu${flags}`)
      const expected = [...subject.matchAll(theirs)].map(each => each[0])
      assert.equal(ours.test(subject), expected.length > 0)
      assert.equal(ours.match(subject)?.groups[0], expected[0])
    }),
    { numRuns: 600 },
  )
})

test('captures agree with the JavaScript engine', () => {
  const part = fc.constantFrom('(a|b)', '(a+)', '(b*)', '(?:(a)|(b))', '(?:xa)*', '(\\w)', '(a|ab)', '(.*?)')
  const pattern = fc.array(part, { minLength: 1, maxLength: 4 }).map(each => each.join(''))
  const text = fc.string({ unit: fc.constantFrom('a', 'b', 'x', ' '), maxLength: 10 })
  fc.assert(
    fc.property(pattern, text, (source, subject) => {
      const expected = new RegExp(source, 'u').exec(subject)
      const ours = compileRegularExpression(source).match(subject)
      assert.deepEqual(ours?.groups, expected?.slice())
    }),
    { numRuns: 300 },
  )
})

test('patterns with catastrophic backtracking are matched in linear time', () => {
  const long = 'a'.repeat(100_000)
  for (const pattern of [
    '(a+)+$',
    '(a*)*b',
    '(a|aa)+$',
    '(a|a?)+b$',
    '(.*)(.*)(.*)(.*)[^a]$',
    '^(([a-z])+.)+[A-Z]([a-z])+$',
  ]) {
    assert.equal(compileRegularExpression(pattern).test(`${long}!`), /\[\^a\]/.test(pattern), pattern)
  }
  assert.equal(compileRegularExpression('(x+x+)+y').match('x'.repeat(20_000)), undefined)
  assert.equal(compileRegularExpression('(a?){500}a{500}').test('a'.repeat(500)), true)
  assert.equal(compileRegularExpression('a*').match(long)?.end, 100_000)
})

test('a search over the step limit fails', () => {
  const expression = compileRegularExpression('(?:a.*b|a)')
  assert.throws(() => expression.matchAll('a'.repeat(30_000), Infinity), RegularExpressionError)
  assert.equal(expression.matchAll('a'.repeat(300), Infinity).length, 300)
})

test('cached automaton states are bounded', () => {
  const expression = compileRegularExpression('[ab]*a[ab]{14}c')
  let seed = 1
  let text = ''
  for (let index = 0; index < 20_000; index++) {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
    text += seed > 1_073_741_824 ? 'a' : 'b'
  }
  assert.equal(expression.test(text), false)
  assert.equal(expression.test(`${text}a${'b'.repeat(14)}c`), true)
})

test('deep, long and hostile patterns throw only syntax errors', () => {
  const hostile = [
    '(?:'.repeat(50_000),
    '['.repeat(10_000),
    '[[:'.repeat(500_000),
    '\\pL'.repeat(500_000),
    `${'(?:'.repeat(20_000)}a${')*'.repeat(20_000)}`,
    '__proto__',
  ]
  for (const pattern of hostile) {
    try {
      compileRegularExpression(pattern).test('constructor')
    } catch (error) {
      assert.ok(error instanceof RegularExpressionError, pattern.slice(0, 20))
    }
  }
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom(...Array.from('ab()[]{}*+?|^$\\-,019pPxQEdwsbBAz:<>iP=!.')) }),
      pattern => {
        try {
          compileRegularExpression(pattern).match('ab01')
        } catch (error) {
          assert.ok(error instanceof RegularExpressionError)
        }
      },
    ),
    { numRuns: 1000 },
  )
})
