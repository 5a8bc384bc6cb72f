import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toneOfCell, type Tone } from './tone.ts'

function check(column: string, tones: Readonly<Record<string, Tone | undefined>>): void {
  for (const [text, tone] of Object.entries(tones))
    assert.equal(toneOfCell(column, text), tone, `${column} ${text}`)
}

test('toneOfCell knows the states that the API server prints', () => {
  check('Status', {
    'Running': 'good',
    'Pending': 'busy',
    'CrashLoopBackOff': 'bad',
    'Init:0/2': 'busy',
    'Init:Error': 'bad',
    'Init:CrashLoopBackOff': 'bad',
    'Ready,SchedulingDisabled': 'warn',
    'NotReady': 'warn',
    'CreateContainerConfigError': 'bad',
    'Approved,Issued': 'good',
    'anything': undefined,
  })
  check('Ready', {
    '1/1': 'good',
    '0/1': 'warn',
    '0/0': 'idle',
    'True': 'good',
    'False': 'warn',
    '3': undefined,
  })
  check('Restarts', { '0': undefined, '3 (5m ago)': 'warn' })
  check('Name', { Running: undefined })
})
