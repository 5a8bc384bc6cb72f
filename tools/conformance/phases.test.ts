import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listCommand, planPhases, suiteCommand, type SuiteRun } from './phases.ts'

const programs = { suite: '/s/e2e.test', ginkgo: '/s/ginkgo', kubectl: '/s/kubectl' }
const [parallel, serial] = planPhases({ processes: 12, ...programs })

test('every conformance test is in one phase, and without ginkgo one test runs at a time', () => {
  assert.deepEqual(planPhases({ processes: 12, ...programs }), [
    { name: 'parallel', labels: 'Conformance && !Serial && !Disruptive', processes: 12 },
    { name: 'serial', labels: 'Conformance && (Serial || Disruptive)', processes: 1 },
  ])
  assert.deepEqual(
    planPhases({ processes: 1, labels: 'sig-apps || sig-auth' }).map(({ labels }) => labels),
    ['(sig-apps || sig-auth) && !Serial && !Disruptive', '(sig-apps || sig-auth) && (Serial || Disruptive)'],
  )
  assert.deepEqual(
    planPhases({ processes: 12 }).map(({ processes }) => processes),
    [1, 1],
  )
})

test('several processes run behind ginkgo, one process is the suite itself', () => {
  const check = (changes: Partial<SuiteRun>, start: string, ...parts: readonly string[]): void => {
    const run = { phase: parallel!, programs, kubeconfig: '/k', nodes: 2, reportFolder: '/r', ...changes }
    const command = suiteCommand(run).join(' ')
    assert.ok(command.startsWith(start), command)
    for (const part of parts) assert.ok(command.includes(` ${part}`), `${part} in ${command}`)
  }
  check(
    {},
    '/s/ginkgo run --label-filter=Conformance && !Serial && !Disruptive --v=true',
    '--procs=12 --output-dir=/r --json-report=parallel.json /s/e2e.test -- --provider=skeleton --kubeconfig=/k ',
    '--kubectl-path=/s/kubectl --kube-api-content-type=application/json ',
    '--num-nodes=2 ',
  )
  check({ focus: 'Pods .*' }, '/s/ginkgo run', '--focus=Pods .* ')
  check(
    { phase: serial! },
    '/s/e2e.test --ginkgo.label-filter=Conformance && (Serial || Disruptive) --ginkgo.v=true',
    '--ginkgo.json-report=/r/serial.json --provider=skeleton',
  )
  check({ phase: { ...parallel!, processes: 1 } }, '/s/e2e.test', '--ginkgo.json-report=/r/parallel.json')
})

test('tests are listed without running them', () => {
  assert.deepEqual(listCommand({ suite: '/s/e2e.test', report: '/t.json', phase: serial!, focus: 'x' }), [
    '/s/e2e.test',
    '--ginkgo.label-filter=Conformance && (Serial || Disruptive)',
    '--ginkgo.focus=x',
    '--ginkgo.dry-run=true',
    '--ginkgo.json-report=/t.json',
    '--provider=skeleton',
  ])
})
