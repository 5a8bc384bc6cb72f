import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  causesMax,
  decodeOrigin,
  decodePass,
  encodeOrigin,
  encodePass,
  originBytesMax,
  stepsMax,
  type Pass,
} from './origin.ts'

const pass: Pass = {
  component: 'kubelet',
  node: 'node-1',
  key: 'default/wéb',
  causes: [12, 15],
  queuedMs: 1_700_000_000_000,
  startedMs: 1_700_000_000_012.5,
  steps: [
    { name: 'sandbox', startMs: 0.25, durationMs: 81.002 },
    { name: 'pull', startMs: 3, durationMs: 1_200, detail: 'nginx:1.27' },
  ],
}

test('an origin is decoded as it was encoded', () => {
  const origin = {
    user: 'kubernetes-admin',
    userAgent: 'kubectl/v1.36.4',
    verb: 'patch',
    subresource: 'status',
    fieldManager: 'kubectl-edit',
    receivedMs: 1_700_000_000_000,
    steps: [
      { name: 'authentication', startMs: 0, durationMs: 0.12 },
      { name: 'webhook', startMs: 0, durationMs: 0.12, detail: 'a.example.com' },
      { name: 'other', startMs: 1, durationMs: 0, detail: 'x' },
      { name: 'store', startMs: 2, durationMs: 0 },
    ],
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  }
  assert.deepEqual(decodeOrigin(encodeOrigin(origin)), origin)
  assert.deepEqual(decodeOrigin(encodeOrigin({ ...origin, pass: encodePass(pass) })), { ...origin, pass })
  const { subresource: _, fieldManager: __, traceparent: ___, ...least } = origin
  assert.deepEqual(decodeOrigin(encodeOrigin(least)), least)
})

test('a pass is an ASCII header and decoded as it was encoded', () => {
  const header = encodePass(pass)
  assert.match(header, /^[\x20-\x7e]*$/)
  assert.deepEqual(decodePass(header), pass)
})

test('causes and steps beyond their maximum are dropped', () => {
  const causes = Array.from({ length: 20 }, (_, index) => index + 1)
  const steps = Array.from({ length: 99 }, () => ({ name: 'a', startMs: 0, durationMs: 0 }))
  const decoded = decodePass(encodePass({ ...pass, causes, steps }))!
  assert.deepEqual(decoded.causes, causes.slice(-causesMax))
  assert.equal(decoded.steps.length, stepsMax)
})

test('a pass with many long steps is sent with the latest ones that leave room for the origin', () => {
  const steps = Array.from({ length: stepsMax }, (_, index) => {
    return {
      name: 'pull',
      startMs: index,
      durationMs: 1_234.567,
      detail: 'registry.example.com/'.padEnd(150, 'é'),
    }
  })
  const decoded = decodePass(encodePass({ ...pass, steps }))!
  assert.deepEqual(decoded.steps, steps.slice(-decoded.steps.length))
  assert.ok(decoded.steps.length > 0)
  const origin = { user: 'u', userAgent: 'a', verb: 'patch', receivedMs: 1, steps: [] }
  const encoded = encodeOrigin({ ...origin, pass: encodePass(decoded) })
  assert.deepEqual(decodeOrigin(encoded), { ...origin, pass: decoded })
})

test('a header that is not an encoded pass does not change the origin', () => {
  const origin = { user: 'u', userAgent: 'a', verb: 'patch', receivedMs: 1, steps: [] }
  for (const header of ['', '{', '\n', '"}', '{"c":"x"}\n{"u":"root"}', 'ü'.repeat(4_000)])
    assert.deepEqual(decodeOrigin(encodeOrigin({ ...origin, pass: header })), origin, header.slice(0, 20))
})

test('what is not an encoded pass or origin is ignored', () => {
  for (const text of ['', '{', '[]', '"a"', 'null', '['.repeat(4_000), ' '.repeat(5_000)]) {
    assert.equal(decodePass(text), undefined, text.slice(0, 10))
    assert.equal(decodeOrigin(Buffer.from(text)), undefined, text.slice(0, 10))
  }
  assert.deepEqual(decodePass('{"c":1,"r":["a",1.5,7],"s":{},"q":"x"}'), {
    component: '',
    key: '',
    causes: [7],
    queuedMs: 0,
    startedMs: 0,
    steps: [],
  })
})

test('damaged steps are read as far as possible', () => {
  const stepsOf = (steps: string): unknown => decodePass(`{"s":${steps}}`)?.steps
  assert.deepEqual(stepsOf('[0]'), [{ name: 'authentication', startMs: 0, durationMs: 0 }])
  assert.deepEqual(stepsOf('[99,1,"x"]'), [{ name: '', startMs: 0.001, durationMs: 0 }])
  assert.deepEqual(stepsOf('[]'), [])
})

test('an encoded origin is bounded, whatever its texts are', () => {
  const least = { user: 'u', userAgent: 'a', verb: 'create', receivedMs: 1, steps: [] }
  const steps = Array.from({ length: stepsMax }, () => ({ name: 'n'.repeat(300), startMs: 0, durationMs: 0 }))
  const hostile = '\u0007'.repeat(500)
  const cases = [
    { ...least, steps },
    { ...least, steps, pass: encodePass({ ...pass, steps }) },
    { ...least, user: hostile, userAgent: hostile, fieldManager: hostile },
    {
      ...least,
      user: hostile,
      pass: encodePass({ ...pass, key: hostile, component: hostile, node: hostile }),
    },
  ]
  for (const origin of cases) {
    const encoded = encodeOrigin(origin)
    assert.ok(encoded.length <= originBytesMax, String(encoded.length))
    assert.equal(decodeOrigin(encoded)?.verb, 'create')
    assert.deepEqual(decodeOrigin(encoded)?.pass?.causes, 'pass' in origin ? pass.causes : undefined)
  }
})
