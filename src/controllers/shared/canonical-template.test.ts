import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import type { PodSpec, PodTemplateSpec } from '#/api/generated/core/v1.ts'
import { canonicalTemplate } from './canonical-template.ts'

function check(left: object, right: object, isSame: boolean): void {
  const meanings = [left, right].map(each => canonicalTemplate(each as PodTemplateSpec))
  assert.equal(meanings[0] === meanings[1], isSame, inspect([left, right], { depth: 9 }))
}

function spec(fields: Partial<PodSpec> | object): object {
  return { spec: fields }
}

test('templates that differ only in empty values or order are equal', () => {
  check({}, { metadata: {}, spec: undefined }, true)
  check({ metadata: { labels: { a: '1', b: '2' } } }, { metadata: { labels: { b: '2', a: '1' } } }, true)
  check({ metadata: { creationTimestamp: null, annotations: {} } }, {}, true)
  check(spec({ volumes: [], nodeSelector: {} }), spec({}), true)
  check(spec({ hostNetwork: false, hostname: '' }), spec({}), true)
  check(
    spec({ containers: [{ name: 'a', resources: {}, env: [] }] }),
    spec({ containers: [{ name: 'a' }] }),
    true,
  )
  check(
    spec({ containers: [{ name: 'a', env: [{ name: 'X', value: '' }] }] }),
    spec({ containers: [{ name: 'a', env: [{ name: 'X' }] }] }),
    true,
  )
})

test('templates with meaningful differences are not equal', () => {
  check(spec({ nodeSelector: { worker: '' } }), spec({}), false)
  check({ metadata: { labels: { a: '' } } }, { metadata: {} }, false)
  check(
    spec({ volumes: [{ name: 'v', emptyDir: {} }] }),
    spec({ volumes: [{ name: 'v', downwardAPI: {} }] }),
    false,
  )
  check(spec({ automountServiceAccountToken: false }), spec({}), false)
  check(spec({ terminationGracePeriodSeconds: 0 }), spec({}), false)
  check(
    spec({ containers: [{ name: 'a', args: ['x', ''] }] }),
    spec({ containers: [{ name: 'a', args: ['x'] }] }),
    false,
  )
  check(spec({ runtimeClassName: '' }), spec({}), false)
  check(
    spec({ terminationGracePeriodSeconds: 9007199254740993n }),
    spec({ terminationGracePeriodSeconds: 1 }),
    false,
  )
  const hostile = JSON.parse('{"metadata":{"labels":{"__proto__":"x"}}}') as object
  check(hostile, { metadata: { labels: {} } }, false)
})
