import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planReconnect } from './plan-reconnect.ts'

interface Case {
  readonly status?: number
  readonly failures: number
  readonly isListed?: boolean
}

function check({ status, failures, isListed = true }: Case, expected: string): void {
  const { step, delayMs, phase } = planReconnect({ status }, { failures, isListed })
  assert.equal(`${step} ${delayMs} ${phase}`, expected)
}

test('planReconnect continues the watch at once after it ended normally', () => {
  check({ failures: 0 }, 'watch 0 live')
})

test('planReconnect waits longer with each failure, up to a limit', () => {
  check({ failures: 1 }, 'watch 500 live')
  check({ failures: 2 }, 'watch 1000 reconnecting')
  check({ failures: 20, status: 503 }, 'watch 30000 reconnecting')
})

test('planReconnect lists again when the version has expired or nothing was listed', () => {
  check({ failures: 0, status: 410 }, 'list 0 live')
  check({ failures: 2, isListed: false }, 'list 1000 reconnecting')
})

test('planReconnect retries a refused list slowly', () => {
  check({ failures: 1, status: 403 }, 'list 30000 refused')
  check({ failures: 1, status: 404 }, 'list 30000 refused')
})
