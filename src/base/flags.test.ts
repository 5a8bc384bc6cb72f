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
  name: stringFlag('NAME', 'what it is called'),
  file: stringArrayFlag('FILE', 'read too'),
  modes: stringSliceFlag('MODE,...', 'in this order'),
  fast: boolFlag('do not wait'),
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

test('flags are read as those of programs in Go are', () => {
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
})

test('a wrong command line is described in one line', () => {
  check('--fly', 'there is no flag --fly')
  check('--__proto__ x', 'there is no flag --__proto__')
  check('--constructor=x', 'there is no flag --constructor')
  check('x', 'x: flags begin with two dashes, and there is nothing else')
  check('-x', 'there is no flag --x')
  check('-size 1', '-size: flags begin with two dashes, and there is nothing else')
  check('--', '--: flags begin with two dashes, and there is nothing else')
  check('--=x', '--=x: flags begin with two dashes, and there is nothing else')
  check('--name', '--name needs a value: NAME')
  check('--fast=maybe', '--fast maybe: neither true nor false')
  check('--fast false', 'false: flags begin with two dashes, and there is nothing else')
  check('--size -1', '--size -1: not a whole number from 0')
  check('--size 1e3', '--size 1e3: not a whole number from 0')
  check('--form yaml', '--form yaml: not one of json, text')
  check('--even 3', '--even 3: not an even number')
})

test('the help has a line for each flag, and two for long ones', () => {
  const { name, fast } = flags
  assert.equal(
    describeFlags({ name, fast, 'something-with-quite-a-long-name': name }),
    [
      '  --name NAME                       what it is called',
      '  --fast                            do not wait',
      '  --something-with-quite-a-long-name NAME',
      '                                    what it is called',
      '',
    ].join('\n'),
  )
})

test('other words are taken by those who ask for them, wherever they stand', () => {
  const given = ['load', '--name', 'a', 'one', '-', '--fast', 'two']
  const { words, values } = parseArgumentsAndFlags(given, flags)
  assert.deepEqual([words, values], [['load', 'one', '-', 'two'], { name: 'a', fast: true }])
  assert.throws(() => parseArgumentsAndFlags(['one', '--slow'], flags), UsageError)
})
