import { test } from 'node:test'
import assert from 'node:assert/strict'
import { tableWidths, TabWriter, type TabWriterOptions } from './tab-writer.ts'

const describeWidths = { minWidth: 0, padding: 2 }
const flush = Symbol('flush')

interface Case {
  readonly is: string
  readonly widths?: Pick<TabWriterOptions, 'minWidth' | 'padding' | 'rememberWidths'>
  readonly writes: readonly (string | typeof flush)[]
  readonly prints: string
}

const cases: readonly Case[] = [
  {
    is: 'pads all cells of a table but the last',
    widths: tableWidths,
    writes: ['NAME\tREADY\tAGE\n', 'web-0\t1/1\t5m\n', 'a-very-long-name\t0/1\t10s\n'],
    prints: 'NAME               READY   AGE\nweb-0              1/1     5m\na-very-long-name   0/1     10s\n',
  },
  {
    is: 'widens narrow columns to the minimum',
    widths: tableWidths,
    writes: ['A\tB\nx\ty\n'],
    prints: 'A     B\nx     y\n',
  },
  {
    is: 'pads an ended last cell',
    widths: tableWidths,
    writes: ['NAME\tLABELS\t\n', 'x\ty\t\n'],
    prints: 'NAME   LABELS   \nx      y        \n',
  },
  { is: 'ends a column at a line without it', writes: ['aaaa\tb\nc\nd\te\n'], prints: 'aaaa  b\nc\nd  e\n' },
  {
    is: 'keeps a column over lines with fewer cells to its right',
    writes: ['a\tb\tc\n', 'aaaa\tb\n', 'aa\tbbb\tc\n'],
    prints: 'a     b  c\naaaa  b\naa    bbb  c\n',
  },
  {
    is: 'indents with empty cells',
    writes: ['Name:\tx\n', 'Containers:\t\n', '  a:\tb\n', '\tc\n'],
    prints: 'Name:        x\nContainers:  \n  a:         b\n             c\n',
  },
  { is: 'counts characters', writes: ['é😀\tx\nabcd\ty\n'], prints: 'é😀    x\nabcd  y\n' },
  {
    is: 'takes a form feed as the end of all columns',
    writes: ['aaaa\tb\fc\td\n'],
    prints: 'aaaa  b\nc  d\n',
  },
  { is: 'takes a vertical tab as a tab', writes: ['a\vb\naaa\tb\n'], prints: 'a    b\naaa  b\n' },
  { is: 'joins pieces of a cell', writes: ['a', 'a\tb', 'b\n', 'a\tb\n'], prints: 'aa  bb\na   b\n' },
  { is: 'writes an incomplete line', writes: ['aaa\tb\na\tb'], prints: 'aaa  b\na    b' },
  { is: 'aligns nothing in the last incomplete cell', writes: ['aaa\tb\na\t'], prints: 'aaa  b\na' },
  { is: 'forgets widths at a flush', writes: ['aaaa\tb\n', flush, 'a\tb\n'], prints: 'aaaa  b\na  b\n' },
  {
    is: 'remembers widths over flushes',
    widths: tableWidths,
    writes: ['aaaaaa\tb\n', flush, 'a\tb\n', flush, 'aaaaaaaa\tb\n', 'line\n', 'a\tb\tc\n'],
    prints: 'aaaaaa   b\na        b\naaaaaaaa   b\nline\na          b     c\n',
  },
  { is: 'writes nothing without text', writes: [flush, '', flush], prints: '' },
]

for (const { is, widths, writes, prints } of cases) {
  test(`a tab writer ${is}`, () => check({ widths: widths ?? describeWidths, writes, prints }))
}

function check({ widths, writes, prints }: Required<Omit<Case, 'is'>>): void {
  let printed = ''
  const writer = new TabWriter({ ...widths, write: text => (printed += text) })
  for (const each of [...writes, flush]) {
    if (typeof each === 'string') writer.write(each)
    else writer.flush()
  }
  assert.equal(printed, prints)
}

test('a tab writer writes a line without tabs, and all before it, at once', () => {
  const printed: string[] = []
  const writer = new TabWriter({ ...describeWidths, write: text => printed.push(text) })
  writer.write('a\tb\n')
  assert.deepEqual(printed, [])
  writer.write('line\n')
  assert.deepEqual(printed, ['a  b\nline\n'])
})
