import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Container, Pod } from '#/api/generated/core/v1.ts'
import { answersProbes, scriptOf } from './container-script.ts'

/** The expected script is `CODE after MILLISECONDS` or `forever`. */
function check(pod: Partial<Pod>, container: Partial<Container>, expected: string): void {
  const script = scriptOf({ metadata: {}, ...pod }, { name: 'it', ...container })
  const shown = script === 'forever' ? script : `${script.exitCode} after ${script.afterMs}`
  assert.equal(shown, expected, JSON.stringify([pod, container]))
}

const never = { spec: { restartPolicy: 'Never', containers: [] } }
const always = { spec: { restartPolicy: 'Always', containers: [] } }

test('a hollow command sets the run time and the exit code of its container', () => {
  const cases: Readonly<Record<string, string>> = {
    'true': '0 after 0',
    '/bin/false': '1 after 0',
    'sleep 3': '0 after 3000',
    '/usr/bin/sleep 0.5': '0 after 500',
    'sleep 2m': '0 after 120000',
    'sleep infinity': 'forever',
    'nginx -g daemon-off': 'forever',
    'echo hello': '0 after 0',
  }
  for (const [command, expected] of Object.entries(cases)) {
    check(always, { command: command.split(' ') }, expected)
    const [first = '', ...args] = command.split(' ')
    check(always, { command: [first], args }, expected)
  }
})

test('a hollow shell script sets the run time and the exit code of its container', () => {
  const cases: Readonly<Record<string, string>> = {
    'exit 7': '7 after 0',
    'sleep 1; exit 3': '3 after 1000',
    'sleep 1 && sleep 2 && false': '1 after 3000',
    'echo hello\nsleep 1': '0 after 1000',
    'exit 256': '0 after 0',
    'exit -1': '255 after 0',
    'exit nonsense': '0 after 0',
    'false; exit': '1 after 0',
    'while true; do sleep 1; done': 'forever',
    '': 'forever',
  }
  for (const [text, expected] of Object.entries(cases)) {
    check(always, { command: ['sh', '-c', text] }, expected)
    check(always, { command: ['/bin/bash', '-ec'], args: [text] }, expected)
  }
})

test('a hollow container without a script exits only in pods that must complete', () => {
  check(always, {}, 'forever')
  check({}, {}, 'forever')
  check(never, {}, '0 after 1000')
  check(never, { command: ['make'] }, '0 after 1000')
  check({ spec: { restartPolicy: 'OnFailure', containers: [] } }, {}, '0 after 1000')
})

test('pod annotations win over the commands of hollow containers', () => {
  const annotated = (code?: string, after?: string): Partial<Pod> => {
    return {
      ...always,
      metadata: {
        annotations: {
          ...(code !== undefined && { 'simulated.k8ts.io/exit-code': code }),
          ...(after !== undefined && { 'simulated.k8ts.io/exit-after': after }),
        },
      },
    }
  }
  const container = { command: ['sleep', 'infinity'] }
  check(annotated('2'), container, '2 after 0')
  check(annotated(undefined, '90s'), container, '0 after 90000')
  check(annotated('1', '1h'), container, '1 after 3600000')
  check(annotated('nonsense', 'nonsense'), container, '0 after 0')
  check(annotated('-1'), container, '255 after 0')
})

test('parsing a long hollow command takes linear time', () => {
  const text = `${'sleep 0;'.repeat(50_000)}exit 4`
  check(always, { command: ['sh', '-c', text] }, '4 after 0')
  check(always, { command: ['sh', '-c', `${' '.repeat(1_000_000)}x`] }, 'forever')
})

test('a hollow pod is unready only with the annotation value false', () => {
  const answers = (value?: string): boolean => {
    return answersProbes({
      metadata: { annotations: value === undefined ? {} : { 'simulated.k8ts.io/ready': value } },
    })
  }
  assert.deepEqual([undefined, 'true', '', 'no', 'false'].map(answers), [true, true, true, true, false])
  assert.equal(answersProbes({ metadata: {} }), true)
})
