import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nameTest, withContainers, withPodSpec } from './pod-spec.ts'

test('the pod spec is at the place of the kind', () => {
  const mark = (apiVersion: string, kind: string) =>
    withPodSpec({ apiVersion, kind }, spec => ({ ...spec, x: 1 }))
  const spec = { x: 1 }
  assert.deepEqual(mark('v1', 'Pod')['spec'], spec)
  assert.deepEqual(mark('apps/v1', 'Deployment')['spec'], { template: { spec } })
  assert.deepEqual(mark('batch/v1', 'CronJob')['spec'], { jobTemplate: { spec: { template: { spec } } } })
  const problem = 'the object is not a pod or does not have a pod template: *v1.'
  assert.throws(() => mark('v1', 'ConfigMap'), new Error(`${problem}ConfigMap`))
  assert.throws(() => mark('example.com/v1', 'Deployment'), new Error(`${problem}Deployment`))
})

test('patterns with wildcards select names', () => {
  const check = (pattern: string, name: string, expected: boolean): void =>
    assert.equal(nameTest(pattern)(name), expected, `${pattern} ${name}`)
  check('*', 'web', true)
  check('web', 'web', true)
  check('web', 'web-1', false)
  check('web*', 'web-1', true)
  check('*-1', 'web-1', true)
  check('w*b*', 'web-1', true)
  check('a.c', 'abc', false)
})

test('matching containers are changed, init containers included', () => {
  const spec = { containers: [{ name: 'a' }, { name: 'b' }], initContainers: [{ name: 'a' }] }
  const change = { change: (container: object) => ({ ...container, image: 'x' }) }
  assert.deepEqual(withContainers(spec, { selects: nameTest('a'), ...change }), {
    containers: [{ name: 'a', image: 'x' }, { name: 'b' }],
    initContainers: [{ name: 'a', image: 'x' }],
  })
  assert.equal(withContainers(spec, { selects: nameTest('c'), ...change }), undefined)
})
