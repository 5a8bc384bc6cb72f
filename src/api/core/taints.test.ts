import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Taint, Toleration } from '../generated/core/v1.ts'
import { doNotScheduleEffects, tolerates, findMatchingUntoleratedTaint } from './taints.ts'

/** `key=value:Effect` */
function taintOf(text: string): Taint {
  const [, key = '', value, effect = ''] = /^([^=:]+)(?:=([^:]*))?:(.+)$/.exec(text) ?? []
  return { key, effect, ...(value !== undefined && { value }) }
}

test('tolerations match taints by key, value, effect and operator', () => {
  const cases: readonly [Toleration, string, boolean][] = [
    [{ key: 'a', value: '1' }, 'a=1:NoSchedule', true],
    [{ key: 'a', value: '1', operator: 'Equal' }, 'a=2:NoSchedule', false],
    [{ key: 'a', operator: 'Exists' }, 'a=2:NoSchedule', true],
    [{ key: 'a', operator: 'Exists', effect: 'NoExecute' }, 'a:NoSchedule', false],
    [{ operator: 'Exists' }, 'anything=x:NoExecute', true],
    [{}, 'a:NoSchedule', false],
    [{ key: 'a' }, 'a:NoSchedule', true],
    [{ key: 'b', operator: 'Exists' }, 'a:NoSchedule', false],
    [{ key: 'a', operator: 'Gt', value: '5' }, 'a=6:NoSchedule', true],
    [{ key: 'a', operator: 'Gt', value: '5' }, 'a=5:NoSchedule', false],
    [{ key: 'a', operator: 'Lt', value: '5' }, 'a=4:NoSchedule', true],
    [{ key: 'a', operator: 'Lt', value: '5' }, 'a=x:NoSchedule', false],
    [{ key: 'a', operator: 'Near', value: '5' }, 'a=5:NoSchedule', false],
  ]
  for (const [toleration, taint, expected] of cases) {
    assert.equal(tolerates(toleration, taintOf(taint)), expected, `${JSON.stringify(toleration)} ${taint}`)
  }
})

test('findMatchingUntoleratedTaint returns the first untolerated taint with the effect', () => {
  const taints = ['a:PreferNoSchedule', 'b:NoSchedule', 'c:NoExecute'].map(taintOf)
  assert.equal(findMatchingUntoleratedTaint(taints, undefined, doNotScheduleEffects)?.key, 'b')
  assert.equal(
    findMatchingUntoleratedTaint(taints, [{ key: 'b', operator: 'Exists' }], doNotScheduleEffects)?.key,
    'c',
  )
  assert.equal(
    findMatchingUntoleratedTaint(taints, [{ operator: 'Exists' }], doNotScheduleEffects),
    undefined,
  )
  assert.equal(findMatchingUntoleratedTaint(undefined, undefined, doNotScheduleEffects), undefined)
})
