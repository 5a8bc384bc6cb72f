import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readGinkgoReport } from './ginkgo-report.ts'

const passed = {
  ContainerHierarchyTexts: ['[sig-apps] Deployment', 'when scaled'],
  LeafNodeType: 'It',
  LeafNodeText: 'works [Conformance]',
  State: 'passed',
  RunTime: 1_234_567_890,
}
const name = '[sig-apps] Deployment when scaled works [Conformance]'

/** In a compact notation: `sig state seconds name: message`. */
function check(spec: object, ...expected: readonly string[]): void {
  const tests = readGinkgoReport(JSON.stringify([{ SpecReports: [{ ...passed, ...spec }] }]))
  const written = tests.map(({ name, sig, state, seconds, message }) => {
    return `${sig} ${state} ${seconds} ${name}${message === undefined ? '' : `: ${message}`}`
  })
  assert.deepEqual(written, expected)
}

test('a test of the report has name, group, state, seconds and message', () => {
  check({}, `sig-apps passed 1.235 ${name}`)
  check({ State: 'failed', Failure: { Message: 'no pods' } }, `sig-apps failed 1.235 ${name}: no pods`)
  check(
    { State: 'panicked', Failure: { Message: 'Test Panicked', ForwardedPanic: 'nil map' } },
    `sig-apps failed 1.235 ${name}: Test Panicked\nnil map`,
  )
  check({ State: 'timedout' }, `sig-apps failed 1.235 ${name}`)
  check({ State: 'a state to come' }, `sig-apps failed 1.235 ${name}`)
  check(
    { State: 'interrupted', Failure: { Message: 'Interrupted by User' } },
    `sig-apps interrupted 1.235 ${name}: Interrupted by User`,
  )
  check(
    { State: 'skipped', Failure: { Message: 'needs GPUs' } },
    `sig-apps skipped 1.235 ${name}: needs GPUs`,
  )
  check({ ContainerHierarchyTexts: null, LeafNodeText: 'alone' }, 'suite passed 1.235 alone')
})

test('tests that were filtered out, and nodes of the suite that passed, are left out', () => {
  check({ State: 'skipped', RunTime: 0 })
  check({ State: 'skipped', Failure: { Message: '' } })
  check({ State: 'pending' })
  check({ LeafNodeType: 'SynchronizedBeforeSuite' })
  const setUp = { ContainerHierarchyTexts: null, LeafNodeType: 'SynchronizedBeforeSuite', LeafNodeText: '' }
  const failed = { State: 'failed', Failure: { Message: 'no nodes' } }
  check({ ...setUp, ...failed }, 'suite failed 1.235 [SynchronizedBeforeSuite]: no nodes')
  assert.deepEqual(readGinkgoReport('[{"SpecReports":null}]'), [])
})

test('a test of custom resources that returned early is a failure', () => {
  const message = 'failed to create CustomResourceDefinition: the test returned early'
  const expected = `sig-apps failed 1.235 ${name}: ${message}`
  const checkEarly = (spec: object): void => {
    const [test] = readGinkgoReport(JSON.stringify([{ SpecReports: [{ ...passed, ...spec }] }]))
    const { sig, state, seconds, message } = test!
    assert.ok(`${sig} ${state} ${seconds} ${name}: ${message}`.startsWith(expected), String(message))
  }
  const line = 'Unexpected error while creating CustomResourceDefinition: timed out'
  checkEarly({ CapturedGinkgoWriterOutput: `STEP: x\n${line}\n` })
  checkEarly({ CapturedStdOutErr: 'failed to create CustomResourceDefinition: timed out' })
  check(
    { State: 'failed', Failure: { Message: 'x' }, CapturedGinkgoWriterOutput: line },
    `sig-apps failed 1.235 ${name}: x`,
  )
})

test('a report that was cut off is refused', () => {
  assert.throws(() => readGinkgoReport('[{"SpecReports":[{"Leaf'), SyntaxError)
})
