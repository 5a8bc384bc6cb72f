import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  enumFlag,
  describeFlags,
  stringSliceFlag,
  valueFlag,
  parseFlags,
  parseArgumentsAndFlags,
  stringFlag,
  stringArrayFlag,
  boolFlag,
  UsageError,
  integerFlag,
} from './flags.ts'

const flags = {
  name: { ...stringFlag('NAME', 'what it is called'), shorthand: 'n' },
  file: stringArrayFlag('FILE', 'read too'),
  modes: stringSliceFlag('MODE,...', 'in this order'),
  fast: { ...boolFlag('do not wait'), shorthand: 'f' },
  level: { ...stringFlag('LEVEL', 'how careful'), bareValue: 'high' },
  v: integerFlag('N', 'how much is said'),
  size: integerFlag('N', 'how many'),
  form: enumFlag(['json', 'text'], 'how it looks'),
  even: valueFlag('N', 'an even one', {
    parse: given => (Number(given) % 2 === 0 ? Number(given) : undefined),
    what: 'an even number',
  }),
}

function check(line: string, expected: object | string): void {
  const words = line.split(' ').filter(word => word !== '')
  if (typeof expected !== 'string') return assert.deepEqual(parseFlags(words, flags), expected)
  assert.throws(
    () => parseFlags(words, flags),
    (error: unknown) => error instanceof UsageError && error.message === expected,
    line,
  )
}

test("flags follow pflag's syntax", () => {
  check('', {})
  check('-v 2', { v: 2 })
  check('-v=2 --v 3', { v: 3 })
  check('--name x', { name: 'x' })
  check('--name=x --name y', { name: 'y' })
  check('--name --fast', { name: '--fast' })
  check('--name - --fast', { name: '-', fast: true })
  check('--name=', { name: '' })
  check('--name=a=b', { name: 'a=b' })
  check('--fast', { fast: true })
  check('--fast=false', { fast: false })
  check('--fast=T --size 0', { fast: true, size: 0 })
  check('--file a,b --file c', { file: ['a,b', 'c'] })
  check('--modes a,b --modes=c', { modes: ['a', 'b', 'c'] })
  check('--modes=', { modes: [] })
  check('--form text --even 4', { form: 'text', even: 4 })
  check('-n x -n=y', { name: 'y' })
  check('-nx', { name: 'x' })
  check('-f', { fast: true })
  check('-fnx', { fast: true, name: 'x' })
  check('-fn x', { fast: true, name: 'x' })
  check('-f=false', { fast: false })
  check('--level', { level: 'high' })
  check('--level=low', { level: 'low' })
})

test('flag errors are one line', () => {
  check('--fly', 'unknown flag: --fly')
  check('--__proto__ x', 'unknown flag: --__proto__')
  check('--constructor=x', 'unknown flag: --constructor')
  check('x', 'unexpected argument x')
  check('-x', "unknown shorthand flag: 'x' in -x")
  check('-size 1', "unknown shorthand flag: 's' in -size")
  check('-- x', 'unexpected argument x')
  check('--=x', 'bad flag syntax: --=x')
  check('---x', 'bad flag syntax: ---x')
  check('--name', 'flag needs an argument: --name')
  check('-fn', "flag needs an argument: 'n' in -fn")
  check('--fast=maybe', '--fast maybe: must be true or false')
  check('--fast false', 'unexpected argument false')
  check('--size -1', '--size -1: must be a non-negative integer')
  check('--size 1e3', '--size 1e3: must be a non-negative integer')
  check('--form yaml', '--form yaml: must be one of json, text')
  check('--even 3', '--even 3: must be an even number')
})

test('the help has a line for each flag, and two for long ones', () => {
  const { name, fast } = flags
  assert.equal(
    describeFlags({ name, fast, 'something-with-quite-a-long-name': name }),
    [
      '  -n, --name NAME                   what it is called',
      '  -f, --fast                        do not wait',
      '  -n, --something-with-quite-a-long-name NAME',
      '                                    what it is called',
      '',
    ].join('\n'),
  )
})

test('positional arguments may be mixed with flags', () => {
  const given = ['load', '--name', 'a', 'one', '-', '--fast', 'two']
  const { words, values } = parseArgumentsAndFlags(given, flags)
  assert.deepEqual([words, values], [['load', 'one', '-', 'two'], { name: 'a', fast: true }])
  assert.throws(() => parseArgumentsAndFlags(['one', '--slow'], flags), UsageError)
  const { words: after, dashIndex } = parseArgumentsAndFlags(['pod', '-f', '--', 'ls', '-l', '--'], flags)
  assert.deepEqual([after, dashIndex], [['pod', 'ls', '-l', '--'], 1])
})

test('a value that a later one replaces must be valid, too', () => {
  const flags = { count: integerFlag('N', 'count') }
  assert.deepEqual(parseFlags(['--count=1', '--count=2'], flags), { count: 2 })
  assert.throws(() => parseFlags(['--count=x', '--count=2'], flags), { text: 'x' })
})

test('an underscore in the name of a flag is a dash', () => {
  const flags = { 'dry-run': boolFlag('dry') }
  assert.deepEqual(parseFlags(['--dry_run'], flags), { 'dry-run': true })
  assert.throws(() => parseFlags(['--wet_run'], flags), /unknown flag: --wet_run/)
})
