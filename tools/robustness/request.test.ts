import assert from 'node:assert/strict'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { UsageError } from '#/base/flags.ts'
import { help, readRequest, type Request } from './request.ts'

const startedMs = 1_700

test('flags become a request', () => {
  const check = (words: string, expected: Request): void => {
    const given = words.split(' ').filter(word => word !== '')
    assert.deepEqual(readRequest(given, startedMs), expected, words)
  }
  const run = { type: 'run', target: 'embedded', minutes: 1, clients: 8, keys: 10, pauseMs: 40 } as const
  const report = (name: string): string => resolve('robustness-report', name)
  check('--help', { type: 'help' })
  check('', { ...run, seed: '1700', report: report('embedded-1700') })
  check('--minutes 20 --target etcd --seed 7', {
    ...run,
    minutes: 20,
    target: 'etcd',
    seed: '7',
    report: report('etcd-7'),
  })
  check('--minutes 0.5 --clients 3 --keys 4 --pause 0 --faults kill,stop --report /r --seed x', {
    ...run,
    minutes: 0.5,
    clients: 3,
    keys: 4,
    pauseMs: 0,
    faults: ['kill', 'stop'],
    report: '/r',
    seed: 'x',
  })
  check('--faults none --seed 1', { ...run, faults: [], seed: '1', report: report('embedded-1') })
  check('--check /r/history.jsonl', { type: 'check', file: '/r/history.jsonl' })
})

test('a command line that is wrong is refused with the way out', () => {
  const check = (words: string, expected: RegExp): void => {
    const isExpected = (error: unknown): boolean =>
      error instanceof UsageError && expected.test(error.message)
    assert.throws(() => readRequest(words.split(' '), startedMs), isExpected, words)
  }
  check('--minutes 0', /--minutes 0: must be a positive number/)
  check('--target mysql', /must be one of embedded, etcd/)
  check('--faults kill,flood', /--faults flood: must be some of kill, stop, .*, or none/)
  check('--seed a/b', /--seed a\/b: must be/)
  check('--check x --minutes 1', /--check cannot be used with other flags/)
})

test('the help names all flags and faults', () => {
  for (const word of ['--minutes', '--target', '--seed', '--check', 'full-disk', 'partition', 'sync-error']) {
    assert.ok(help.includes(word), word)
  }
})
