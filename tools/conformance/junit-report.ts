/** Results in the XML that continuous integration systems read. */
import { isFailure, type Results, type TestResult } from './results.ts'

export function junitReport({ suite, started, seconds, tests }: Results): string {
  const counts = {
    tests: tests.length,
    failures: tests.filter(({ state }) => isFailure(state)).length,
    skipped: tests.filter(({ state }) => state === 'skipped').length,
    time: seconds,
  }
  const name = `Kubernetes conformance ${suite}`
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites${attributes(counts)}>`,
    `<testsuite${attributes({ name, timestamp: started, ...counts })}>`,
    ...tests.map(testCase),
    '</testsuite>',
    '</testsuites>\n',
  ].join('\n')
}

function testCase({ name, sig, state, seconds = 0, message = '' }: TestResult): string {
  const head = `<testcase${attributes({ classname: sig, name, time: seconds })}`
  if (state === 'passed') return `${head}/>`
  if (state === 'skipped') return `${head}><skipped${attributes({ message })}/></testcase>`
  const [summary = ''] = message.split('\n', 1)
  const failure = attributes({ type: state, message: summary === '' ? state : summary })
  return `${head}><failure${failure}>${escape(message)}</failure></testcase>`
}

function attributes(values: Readonly<Record<string, string | number>>): string {
  return Object.entries(values)
    .map(([name, value]) => ` ${name}="${escape(String(value)).replaceAll('\n', '&#10;')}"`)
    .join('')
}

/** XML 1.0 has no way to write most control characters; they become what stands for the unknown. */
function escape(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/[^\t\n\r\u0020-\uFFFD\u{10000}-\u{10FFFF}]/gu, '\uFFFD')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
