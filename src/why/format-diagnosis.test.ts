import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Diagnosis } from './diagnosis.ts'
import { diagnosisJson, formatDiagnosis } from './format-diagnosis.ts'

const diagnosis: Diagnosis = {
  object: { kind: 'Pod', namespace: 'shop', name: 'web' },
  code: 'CrashLoop',
  summary: 'Pod shop/web keeps crashing.',
  evidence: [{ source: 'log of container app', text: 'cannot open\n  database\n' }],
  remedies: [{ text: 'Read the log:', command: 'kubectl -n shop logs web' }, { text: 'Wait.' }],
  unread: ['nodes: not permitted'],
}

test('a diagnosis is the sentence, the evidence, commands and what could not be read', () => {
  assert.equal(
    formatDiagnosis(diagnosis),
    `Pod shop/web keeps crashing.

Evidence:
  log of container app: cannot open database

What to do:
  Read the log:
      kubectl -n shop logs web
  Wait.

Could not be read:
  nodes: not permitted
`,
  )
  const bare = { ...diagnosis, evidence: [], remedies: [], unread: [] }
  assert.equal(formatDiagnosis(bare), 'Pod shop/web keeps crashing.\n')
})

test('neither text nor JSON has control characters from the cluster', () => {
  const hostile = 'a\u001b[2J\u009b1m\u202eb\u0007\u2028c'
  const shown = { ...diagnosis, summary: hostile, unread: [hostile] }
  const text = formatDiagnosis(shown)
  assert.match(text, /^a\\u001b\[2J\\u009b1m\\u202eb\\u0007\\u2028c\n/)
  const json = diagnosisJson(shown)
  for (const output of [text, json]) {
    assert.doesNotMatch(output.replaceAll('\n', ''), /[\p{Cc}\u2028-\u202e]/u)
  }
  assert.deepEqual(JSON.parse(json), shown)
})

test('a long text is cut, and lone surrogates are escaped', () => {
  const text = formatDiagnosis({ ...diagnosis, summary: `${'x'.repeat(5_000)}\ud800` })
  assert.match(text, /^x{1000}\.\.\.\n/)
  assert.match(formatDiagnosis({ ...diagnosis, summary: 'a\ud800' }), /^a\\ud800\n/)
})
