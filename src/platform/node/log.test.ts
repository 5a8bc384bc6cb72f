import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { AssertionError } from '#/base/assert.ts'
import { jsonLine, lineLog, textLine, type LogLine } from './log.ts'
import { nodeClock } from './clock.ts'

const clock = { ...nodeClock(), now: () => Date.UTC(2026, 0, 2, 3, 4, 5, 678) }

/** Expects this output for a line with these fields, after the time and the level. */
function check(fields: Record<string, unknown>, text: string, json: Record<string, unknown>): void {
  const lines: LogLine[] = []
  lineLog({ level: 'debug', clock, write: line => lines.push(line) }).info('done', fields)
  const [line] = lines as [LogLine]
  assert.equal(
    textLine(line, (_style, shown) => shown),
    `2026-01-02T03:04:05.678Z INFO  done ${text}`,
  )
  const expected = { time: '2026-01-02T03:04:05.678Z', level: 'info', message: 'done', ...json }
  assert.deepEqual(JSON.parse(jsonLine(line)), expected)
}

test('log fields are quoted so that a record is one line', () => {
  const circular: Record<string, unknown> = {}
  circular['self'] = circular
  check({ pod: 'web-0', count: 3 }, 'pod=web-0 count=3', { pod: 'web-0', count: 3 })
  check({ ok: true, none: null }, 'ok=true none=null', { ok: true, none: null })
  check({ a: 'two words' }, 'a="two words"', { a: 'two words' })
  check({ a: '' }, 'a=""', { a: '' })
  check({ a: 'x\ny' }, 'a="x\\ny"', { a: 'x\ny' })
  check({ a: '\u001b[31m\u202e' }, 'a=\\u{1b}[31m\\u{202e}', { a: '\u001b[31m\u202e' })
  check({ a: { b: [1, 'c'] } }, 'a={"b":[1,"c"]}', { a: { b: [1, 'c'] } })
  check({ a: undefined, b: 5n, c: Number.NaN }, 'a=undefined b=5n c=NaN', {
    a: 'undefined',
    b: '5n',
    c: 'NaN',
  })
  check({ a: circular }, 'a="<ref *1> { self: [Circular *1] }"', { a: '<ref *1> { self: [Circular *1] }' })
  check({ message: 'x', time: 1 }, 'message=x time=1', { 'field.message': 'x', 'field.time': 1 })
  const hostile = JSON.parse('{"__proto__":"x"}') as Record<string, unknown>
  check(hostile, '__proto__=x', hostile)
})

test('an error is logged with its causes, and with its stack only for assertion failures', () => {
  const error = new Error('cannot bind', { cause: new Error('node n3 is gone') })
  check({ error }, 'error="cannot bind: node n3 is gone"', { error: 'cannot bind: node n3 is gone' })
  const own = new Error('loop')
  own.cause = own
  check({ error: own }, 'error=loop', { error: 'loop' })
  const repeated = new Error('cannot connect: refused', { cause: new Error('refused', { cause: 'by host' }) })
  const shown = "cannot connect: refused: 'by host'"
  check({ error: repeated }, `error="${shown}"`, { error: shown })
  check({ error: new Error('a', { cause: { b: 1 } }) }, 'error="a: { b: 1 }"', { error: 'a: { b: 1 }' })
  const fault = new AssertionError('broken')
  check({ error: fault }, `error=${JSON.stringify(`broken\n${fault.stack}`)}`, {
    error: `broken\n${fault.stack}`,
  })
})

test('a long log field is truncated', () => {
  const shown = `${'x'.repeat(4_096)}...`
  check({ a: 'x'.repeat(10_000) }, `a=${shown}`, { a: shown })
})

test('a newline in a log message is escaped', () => {
  const line: LogLine = { time: 't', level: 'warn', message: 'a\nERROR b', fields: {} }
  assert.equal(
    textLine(line, (_style, shown) => shown),
    't WARN  a\\u{a}ERROR b',
  )
})

test('records below the log level are dropped, and fields of a logger are on every record', () => {
  const lines: LogLine[] = []
  const all = lineLog({ level: 'warn', clock, write: line => lines.push(line) })
  const log = all.with({ component: 'scheduler', pod: 'a' })
  log.debug('no')
  log.info('no')
  log.warn('yes')
  log.with({ pod: 'b' }).error('yes', { code: 1 })
  assert.deepEqual(
    lines.map(({ level, fields }) => [level, fields]),
    [
      ['warn', { component: 'scheduler', pod: 'a' }],
      ['error', { component: 'scheduler', pod: 'b', code: 1 }],
    ],
  )
})

test('the log goes to standard error, without colors when it is no terminal', () => {
  const module = new URL('../node.ts', import.meta.url).href
  for (const format of ['text', 'json']) {
    const script = `
      const { nodePlatform } = await import('${module}')
      nodePlatform({ log: { level: 'info', format: '${format}' } }).log.error('broken', { code: 7 })`
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      encoding: 'utf8',
    })
    assert.equal(stdout, '')
    const asJson = /^\{"time":"[^"]+","level":"error","message":"broken","code":7\}\n$/
    assert.match(stderr, format === 'text' ? /^\S+ ERROR broken code=7\n$/ : asJson)
  }
})
