import assert from 'node:assert/strict'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { UsageError } from '#/base/flags.ts'
import { readRequest, type Request } from './request.ts'

test('flags become a request, with defaults by the number of cores', () => {
  const check = (words: string, cores: number, expected: Request): void => {
    assert.deepEqual(readRequest(words.split(' '), { cores }), expected)
  }
  const run = { type: 'run', suite: '/e2e.test', runtime: 'containerd', processes: 12 } as const
  const report = resolve('conformance-report')
  check('--help', 1, { type: 'help' })
  check('--suite /e2e.test', 1, { ...run, processes: 6, report })
  check('--suite /e2e.test', 2, { ...run, report })
  check('--suite /e2e.test', 64, { ...run, report })
  check('--suite /e2e.test --processes 25 --nodes 2', 2, { ...run, processes: 25, nodes: 2, report })
  check('--suite /e2e.test --runtime simulated --focus a|b --report /r --images /i', 2, {
    ...run,
    runtime: 'simulated',
    focus: 'a|b',
    report: '/r',
    images: '/i',
  })
  check('--suite /e2e.test --ginkgo /g --kubectl /k --containerd /c', 2, {
    ...run,
    ginkgo: '/g',
    kubectl: '/k',
    containerd: '/c',
    report,
  })
  check('--suite /e2e.test --labels sig-apps', 2, { ...run, labels: 'sig-apps', report })
  check('--write-docs /results.json', 2, { type: 'write-docs', results: ['/results.json'], beyond: [] })
  check('--write-docs /r,/again --beyond /b,/c --beyond /d --reference /s', 2, {
    type: 'write-docs',
    results: ['/r', '/again'],
    beyond: [['/b', '/c'], ['/d']],
    reference: '/s',
  })
})

test('a command line that is wrong is refused with the way out', () => {
  const check = (words: string, expected: RegExp): void => {
    const given = words.split(' ').filter(word => word !== '')
    assert.throws(
      () => readRequest(given, { cores: 2 }),
      error => error instanceof UsageError && expected.test(error.message),
    )
  }
  check('', /^--suite FILE is missing: .* see --help$/)
  check('--suite x --write-docs y', /cannot be used together/)
  check('--suite x --reference y', /^--reference needs --write-docs FILE$/)
  check('--suite x --beyond y', /^--beyond needs --write-docs FILE$/)
  check('--suite x --processes 0', /^--processes 0: must be a number from 1 to 999$/)
  check('--suite x --runtime docker', /must be one of containerd, simulated/)
})
