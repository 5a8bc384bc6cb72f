import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deviceExpressions } from './device-expressions.ts'

const device = {
  driver: 'gpu.example.com',
  attributes: {
    'model': { string: 'a100' },
    'cores': { int: 8 },
    'healthy': { bool: true },
    'other.com/firmware': { version: '1.2.3' },
  },
  capacity: { memory: { value: '40Gi' } },
}

test('device selectors: CEL expressions on attributes and capacity', () => {
  const cases: readonly [string, boolean | RegExp][] = [
    ['device.driver == "gpu.example.com"', true],
    ['device.attributes["gpu.example.com"].model == "a100"', true],
    ['device.attributes["gpu.example.com"].cores >= 16', false],
    ['device.attributes["gpu.example.com"].healthy', true],
    ['device.attributes["other.com"].firmware.isGreaterThan(semver("1.2.0"))', true],
    ['device.capacity["gpu.example.com"].memory.compareTo(quantity("32Gi")) > 0', true],
    ['has(device.attributes["unknown.com"].x)', false],
    ['cel.bind(a, device.attributes["gpu.example.com"], a.cores == 8 && a.model.startsWith("a"))', true],
    ['device.allowMultipleAllocations', false],
    ['device.attributes["unknown.com"].x == 1', /no such key: x/],
    ['device.unknown == 1', /undefined field 'unknown'/],
    ['1 + 1', /must evaluate to bool/],
    ['device.driver ==', /Syntax error/],
  ]
  for (const [expression, expected] of cases) {
    const select = (): boolean => deviceExpressions.compile(expression)(device)
    if (expected instanceof RegExp) assert.throws(select, expected, expression)
    else assert.equal(select(), expected, expression)
  }
})
