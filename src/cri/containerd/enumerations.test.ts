import assert from 'node:assert/strict'
import { test } from 'node:test'
import { signalNumber } from './enumerations.ts'

test('signals have the numbers of CRI', () => {
  const cases: readonly [name: string | undefined, number: number][] = [
    [undefined, 0],
    ['', 0],
    ['SIGNOTHING', 0],
    ['SIGABRT', 1],
    ['SIGINT', 10],
    ['SIGKILL', 13],
    ['SIGQUIT', 18],
    ['SIGTERM', 23],
    ['SIGUSR1', 29],
    ['SIGXFSZ', 34],
    ['SIGRTMIN', 35],
    ['SIGRTMIN+1', 36],
    ['SIGRTMIN+15', 50],
    ['SIGRTMAX-14', 51],
    ['SIGRTMAX-1', 64],
    ['SIGRTMAX', 65],
  ]
  for (const [name, number] of cases) assert.equal(signalNumber(name), number, `${name}`)
})
