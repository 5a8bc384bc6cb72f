import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseMetricTarget, type MetricResource } from './plan-autoscaler.ts'

for (const [resource, text, expected] of [
  ['cpu', '70%', '["Utilization",70]'],
  ['cpu', '500', '["AverageValue","500m"]'],
  ['cpu', '1.5', '["AverageValue","1500u"]'],
  ['cpu', '1', '["AverageValue","1m"]'],
  ['cpu', '2000', '["AverageValue","2"]'],
  ['cpu', '500m', '["AverageValue","500m"]'],
  ['memory', '200', '["AverageValue","200Mi"]'],
  ['memory', ' 1Gi ', '["AverageValue","1Gi"]'],
  ['memory', '1024', '["AverageValue","1Gi"]'],
  ['cpu', '', 'empty input'],
  ['cpu', '%', 'invalid percentage value: '],
  ['cpu', '-5%', 'invalid percentage value: -5'],
  ['memory', '2147483648%', 'invalid percentage value: 2147483648'],
  ['cpu', 'many', 'invalid resource cpu value: many'],
  ['memory', '1e300', 'invalid resource memory value: 1e300'],
] as const satisfies readonly (readonly [MetricResource, string, string])[]) {
  test(`--${resource}=${JSON.stringify(text)} is ${expected}`, () => {
    assert.equal(targetOf(resource, text), expected)
  })
}

function targetOf(resource: MetricResource, text: string): string {
  try {
    const { type, averageUtilization, averageValue } = parseMetricTarget(resource, text)
    return JSON.stringify([type, averageUtilization ?? averageValue])
  } catch (error) {
    return (error as Error).message
  }
}
