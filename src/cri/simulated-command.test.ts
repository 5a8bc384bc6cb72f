import assert from 'node:assert/strict'
import { test } from 'node:test'
import { outcomeOf, parseSimulatedCommand, type CommandStep } from './simulated-command.ts'

function shownStep(step: CommandStep): string {
  switch (step.do) {
    case 'wait':
      return `wait ${step.ms}`
    case 'print':
      return `${step.stream} ${JSON.stringify(step.text)}`
    case 'write':
      return `${step.path} ${JSON.stringify(step.text)}`
    case 'copy':
      return 'copy'
    case 'exit':
      return `exit ${step.code}`
  }
}

test('simulated commands are parsed into steps', () => {
  const cases: Readonly<Record<string, string>> = {
    'echo hi; sleep 1; sleep 2; exit 3': 'stdout "hi\\n", wait 3000, exit 3',
    'echo -n bye > /dev/termination-log; exit 1': '/dev/termination-log "bye", exit 1',
    'echo no >&2; false': 'stderr "no\\n", exit 1',
    'cat; echo done': 'copy, stdout "done\\n", exit 0',
    'true && echo yes || echo no': 'stdout "yes\\n", exit 0',
    'false && echo yes || echo no': 'stdout "no\\n", exit 0',
    'false || exit 4': 'exit 4',
    'sleep infinity; echo never': 'wait Infinity',
    'cat file': 'unknown',
    'nginx': 'unknown',
    'echo $HOME': 'unknown',
  }
  for (const [text, expected] of Object.entries(cases)) {
    const steps = parseSimulatedCommand(['sh', '-c', text])
    assert.equal(steps?.map(shownStep).join(', ') ?? 'unknown', expected, text)
  }
  assert.deepEqual(parseSimulatedCommand(['echo', '$HOME; x'])?.map(shownStep), [
    'stdout "$HOME; x\\n"',
    'exit 0',
  ])
})

test('simulated commands take the virtual time of their steps', () => {
  assert.deepEqual(
    outcomeOf([{ do: 'wait', ms: 5 }, { do: 'copy' }, { do: 'wait', ms: 2 }, { do: 'exit', code: 1 }]),
    {
      afterMs: 7,
      exitCode: 1,
    },
  )
  assert.equal(outcomeOf([{ do: 'wait', ms: Infinity }]), 'forever')
})
