import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isApiError } from '../errors.ts'
import { deepFreeze, equalJson, type JsonValue } from '../text/json-value.ts'
import { createJsonPatch } from './create-json-patch.ts'
import type { JsonObject } from '../text/json-object.ts'
import { applyJsonPatch } from './json-patch.ts'
import { nested, values } from './testdata/values.ts'

/** Operations in short notation: `add /a 1`, `remove /a`, `move /from /path`; a value is JSON. */
function operations(script: string): JsonValue {
  return script.split('; ').map((line): JsonObject => {
    const [, op = '', first = '', rest] = /^(\w+) ?(\S*)(?: (.*))?$/.exec(line) ?? []
    if (op === 'move' || op === 'copy') return { op, from: first, path: rest ?? '' }
    return rest === undefined ? { op, path: first } : { op, path: first, value: JSON.parse(rest) }
  })
}

function check(document: JsonValue, script: string, expected: JsonValue): void {
  const before = structuredClone(document)
  assert.deepEqual(applyJsonPatch(deepFreeze(document), deepFreeze(operations(script))), expected, script)
  assert.deepEqual(document, before)
}

function checkFails(document: JsonValue, patch: JsonValue, code: number, cause = /./): void {
  const before = structuredClone(document)
  assert.throws(
    () => applyJsonPatch(deepFreeze(document), patch),
    error => {
      assert.ok(isApiError(error))
      assert.equal(error.code, code)
      assert.match(error.cause instanceof Error ? error.cause.message : error.message, cause)
      return true
    },
  )
  assert.deepEqual(document, before)
}

test('JSON patch follows the examples of RFC 6902', () => {
  check({ foo: 'bar' }, 'add /baz "qux"', { baz: 'qux', foo: 'bar' })
  check({ foo: ['bar', 'baz'] }, 'add /foo/1 "qux"', { foo: ['bar', 'qux', 'baz'] })
  check({ baz: 'qux', foo: 'bar' }, 'remove /baz', { foo: 'bar' })
  check({ foo: ['bar', 'qux', 'baz'] }, 'remove /foo/1', { foo: ['bar', 'baz'] })
  check({ baz: 'qux', foo: 'bar' }, 'replace /baz "boo"', { baz: 'boo', foo: 'bar' })
  check({ foo: { bar: 'baz', waldo: 'fred' }, qux: { corge: 'grault' } }, 'move /foo/waldo /qux/thud', {
    foo: { bar: 'baz' },
    qux: { corge: 'grault', thud: 'fred' },
  })
  check({ foo: ['all', 'grass', 'cows', 'eat'] }, 'move /foo/1 /foo/3', {
    foo: ['all', 'cows', 'eat', 'grass'],
  })
  check({ baz: 'qux', foo: ['a', 2, 'c'] }, 'test /baz "qux"; test /foo/1 2', {
    baz: 'qux',
    foo: ['a', 2, 'c'],
  })
  check({ foo: 'bar' }, 'add /child {"grandchild":{}}', { foo: 'bar', child: { grandchild: {} } })
  check({ '/': 9, '~1': 10 }, 'test /~01 10', { '/': 9, '~1': 10 })
  check({ foo: ['bar'] }, 'add /foo/- ["abc","def"]', { foo: ['bar', ['abc', 'def']] })
  check({ foo: 'bar' }, 'add /foo null', { foo: null })
  checkFails(
    { baz: 'qux' },
    operations('test /baz "bar"'),
    422,
    /cannot "test" "\/baz": testing value failed: values differ$/,
  )
  checkFails({ foo: 'bar' }, operations('add /baz/bat "qux"'), 422, /path does not exist/)
  checkFails({ '/': 9, '~1': 10 }, operations('test /~01 "10"'), 422, /values differ/)
})

test('JSON patch supports every JSON pointer', () => {
  check({ a: 1 }, 'replace  [1]', [1])
  check({ a: 1 }, 'add  {"b":2}', { b: 2 })
  check({ a: { b: 1 } }, 'copy /a /c; replace /c/b 2; add /a/d 3', { a: { b: 1, d: 3 }, c: { b: 2 } })
  check({ a: { b: 1 } }, 'replace /a/b 2; copy /a /c; replace /c/b 3; replace /a/b 4', {
    a: { b: 4 },
    c: { b: 3 },
  })
  check({ a: 1 }, 'copy  /b', { a: 1, b: { a: 1 } })
  check({ 'x/y': { '~': 1 } }, 'replace /x~1y/~0 2; add /~01 3', { 'x/y': { '~': 2 }, '~1': 3 })
  check({ '': { '': 1 } }, 'replace // 2', { '': { '': 2 } })
  check([[1], [2]], 'add /1/0 3; remove /0/0', [[], [3, 2]])
  check({ a: [1, 2] }, 'move /a/0 /a/0', { a: [1, 2] })
  check({ a: [1, 2] }, 'move /a/0 /a/-', { a: [2, 1] })
  check([1], 'add /1 2', [1, 2])
})

test('JSON patch is as lenient as Kubernetes', () => {
  check({}, 'replace /a 1', { a: 1 })
  check({ a: {} }, 'test /a/b null', { a: {} })
  check({ a: {} }, 'test /a/b', { a: {} })
  check({ a: [1, 2, 3] }, 'replace /a/-1 4; remove /a/-3; test /a/-2 2', { a: [2, 4] })
  check({ a: [1, 2] }, 'add /a/-1 3; add /a/-4 0', { a: [0, 1, 2, 3] })
})

test('a failing operation returns 422 with its cause', () => {
  const cases: [JsonValue, string, RegExp][] = [
    [{ a: [1] }, 'remove /a/1', /path does not exist/],
    [{ a: [1] }, 'remove /a/-', /path does not exist/],
    [{ a: [1] }, 'remove /a/-2', /path does not exist/],
    [{ a: [1] }, 'replace /a/1 2', /path does not exist/],
    [{ a: [1] }, 'add /a/2 2', /path does not exist/],
    [{ a: [1] }, 'add /a/01 2', /path does not exist/],
    [{ a: [1] }, 'add /a/+0 2', /path does not exist/],
    [{ a: [1] }, 'add /a/1e0 2', /path does not exist/],
    [{ a: [1] }, 'add /a/length 2', /path does not exist/],
    [{ a: [1] }, `add /a/${'9'.repeat(400)} 2`, /path does not exist/],
    [{ a: 'text' }, 'add /a/0 2', /path does not exist/],
    [{ a: 1 }, 'remove /b', /path does not exist/],
    [{ a: 1 }, 'remove ', /path does not exist/],
    [{ a: 1 }, 'remove /toString', /path does not exist/],
    [{ a: 1 }, 'add /__proto__/polluted 1', /path does not exist/],
    [{ a: 1 }, 'add /constructor/prototype/polluted 1', /path does not exist/],
    [{ a: 1 }, 'test /toString null; test /constructor {}', /value does not exist/],
    [{ a: 1 }, 'test /b/c null', /path does not exist/],
    [{ a: [1] }, 'test /a/5 null', /path does not exist/],
    [{ a: { b: 1 } }, 'move /a /a/b', /prefix of path/],
    [[[1], [2]], 'move /0 /0/0', /prefix of path/],
    [{ a: 1 }, 'move /b /c', /from does not exist/],
    [{ a: 1 }, 'copy /b /c', /from does not exist/],
    [{ a: 1 }, 'copy b /c', /from is not a valid JSON pointer/],
    [{ a: 1 }, 'add a 1', /path is not a valid JSON pointer/],
    [{ a: 1 }, 'frobnicate /a 1', /unknown operation/],
  ]
  for (const [document, script, cause] of cases) checkFails(document, operations(script), 422, cause)
  checkFails({ a: 1 }, [{ op: 'add', value: 1 }], 422, /path is not a valid JSON pointer/)
  checkFails({ a: 1 }, [{ op: null, path: '/a' }], 422, /unknown operation/)
})

test('a malformed JSON patch returns 400, one that is too long 413', () => {
  checkFails({}, { op: 'add', path: '/a', value: 1 }, 400, /cannot unmarshal object into Go value/)
  assert.deepEqual(applyJsonPatch({ a: 1 }, null), { a: 1 })
  checkFails({}, [1], 400, /cannot unmarshal number into Go value/)
  checkFails({}, [[]], 400)
  checkFails({}, [{ op: 'add', path: 1 }], 400, /field jsonPatchOp.path of type string/)
  checkFails({}, [{ op: 1, path: '/a' }], 400, /field jsonPatchOp.op of type string/)
  const many = Array.from({ length: 10_001 }, () => ({ op: 'test', path: '/a', value: null }))
  checkFails({}, many, 413, /maximum operations in a JSON patch is 10000, got 10001/)
  assert.deepEqual(applyJsonPatch({}, many.slice(1)), {})
})

test("a failed operation has Kubernetes' message", () => {
  assert.throws(() => applyJsonPatch({}, operations('remove /a')), {
    reason: 'Invalid',
    message: 'the server rejected our request due to an error in our request',
  })
})

test('exponential growth by copy operations is rejected', () => {
  const bomb = Array.from({ length: 40 }, (_, index) => ({ op: 'copy', from: '', path: `/${index}` }))
  const doubling = Array.from({ length: 40 }, () => ({ op: 'copy', from: '/a', path: '/a/-' }))
  checkFails({ b: 'x'.repeat(100) }, bomb, 422, /copy operations add more than 3145728 bytes/)
  checkFails({ a: ['x'.repeat(100)] }, doubling, 422, /copy operations add/)
  const large = { a: 'x'.repeat(1024 * 1024) }
  const copied = applyJsonPatch(large, operations('copy /a /b; copy /a /c'))
  assert.deepEqual(copied, { a: large.a, b: large.a, c: large.a })
})

test('JSON patch bounds the nesting depth', () => {
  const nest = Array.from({ length: 5_000 }, (_, level): JsonValue[] => [
    { op: 'add', path: `/${level + 1}`, value: {} },
    { op: 'move', from: `/${level}`, path: `/${level + 1}/a` },
  ]).flat()
  checkFails({ 0: {} }, nest, 400, /nested more than 1000 levels/)
  assert.ok(applyJsonPatch({ 0: {} }, nest.slice(0, 1_000)))
})

test('many operations on a long list take linear time', () => {
  const long = Array.from({ length: 100_000 }, (_, index) => index)
  const patch = Array.from({ length: 10_000 }, (_, index) => ({ op: 'add', path: '/a/-', value: index }))
  const patched = applyJsonPatch(deepFreeze({ a: long }), patch)
  assert.ok(!Array.isArray(patched) && typeof patched === 'object' && patched !== null)
  assert.ok(Array.isArray(patched.a) && patched.a.length === 110_000)
  assert.equal(long.length, 100_000)
})

test('test operations compare numbers by value', () => {
  const document = { a: 2n ** 60n, b: 1 }
  assert.equal(applyJsonPatch(document, [{ op: 'test', path: '', value: { b: 1n, a: 2n ** 60n } }]), document)
  checkFails(document, [{ op: 'test', path: '/a', value: Number(2n ** 60n) + 1000 }], 422)
  checkFails(document, [{ op: 'test', path: '/a', value: 2n ** 60n + 1n }], 422)
})

test('JSON patch treats names like __proto__ as ordinary members', () => {
  const script = 'add /__proto__ {"a":1}; add /__proto__/b 2; copy /__proto__ /constructor'
  const patched = applyJsonPatch({}, operations(script))
  assert.equal(JSON.stringify(patched), '{"__proto__":{"a":1,"b":2},"constructor":{"a":1,"b":2}}')
  assert.equal(Object.getPrototypeOf(patched), Object.prototype)
  const removed = applyJsonPatch(patched, operations('remove /__proto__'))
  assert.equal(JSON.stringify(removed), '{"constructor":{"a":1,"b":2}}')
})

test('JSON patch shares unchanged parts with the input', () => {
  const document = { a: { b: [1] }, c: { d: {} } }
  const patched = applyJsonPatch(document, operations('replace /a/b/0 2'))
  assert.deepEqual(patched, { a: { b: [2] }, c: { d: {} } })
  assert.ok(typeof patched === 'object' && patched !== null && !Array.isArray(patched))
  assert.equal(patched.c, document.c)
})

test('a created JSON patch transforms the original into the modified document', () => {
  fc.assert(
    fc.property(values, values, (before, after) => {
      const patched = applyJsonPatch(
        deepFreeze(before),
        deepFreeze(createJsonPatch(before, deepFreeze(after))),
      )
      assert.ok(equalJson(patched, after))
    }),
  )
  fc.assert(
    fc.property(values, value => {
      assert.deepEqual(createJsonPatch(value, structuredClone(value)), [])
    }),
  )
})

test('a created JSON patch contains only the differences', () => {
  const cases: [JsonValue, JsonValue, string][] = [
    [{ a: 1, b: 2 }, { 'b': 3, 'c/d': 4 }, 'remove /a; replace /b 3; add /c~1d 4'],
    [[1, 2, 3], [1, 3], 'remove /1'],
    [[1, 3], [1, 2, 3], 'add /1 2'],
    [[{ a: 1 }, 2], [{ a: 2 }, 2], 'replace /0/a 2'],
    [1, [1], 'replace  [1]'],
  ]
  for (const [before, after, script] of cases) {
    assert.deepEqual(createJsonPatch(before, after), operations(script))
  }
  const many = Array.from({ length: 10_001 }, (_, index) => [`k${index}`, 1])
  const long = createJsonPatch({}, Object.fromEntries(many))
  assert.deepEqual(
    long.map(({ op, path }) => [op, path]),
    [['replace', '']],
  )
})

test('creating a JSON patch rejects documents nested too deep', () => {
  const attempt = () => createJsonPatch(nested(100_000), nested(100_001))
  assert.throws(attempt, error => isApiError(error, 'BadRequest'))
})

test('a JSON patch of tests returns the document itself', () => {
  fc.assert(
    fc.property(values, value => {
      assert.equal(applyJsonPatch(value, [{ op: 'test', path: '', value: structuredClone(value) }]), value)
    }),
  )
})

test('a failed JSON patch leaves the document unchanged', () => {
  fc.assert(
    fc.property(values, values, (before, after) => {
      const copy = structuredClone(before)
      const failing = { op: 'test', path: '', value: { no: 'such document' } }
      const patch = [...createJsonPatch(before, after), failing]
      assert.throws(
        () => applyJsonPatch(before, patch),
        error => isApiError(error, 'Invalid'),
      )
      assert.deepEqual(before, copy)
    }),
  )
})

const op = fc.constantFrom('add', 'remove', 'replace', 'move', 'copy', 'test')
const names = fc.constantFrom('/a', '/b', '/0', '/-', '/-1', '/__proto__', '/x~1y', '')
const pointer = fc.array(names, { maxLength: 3 }).map(path => path.join(''))
const operation = fc.record({ op, path: pointer, from: pointer, value: values })

test('any JSON patch succeeds or throws ApiError', () => {
  fc.assert(
    fc.property(values, fc.oneof(fc.array(operation), values), (document, patch) => {
      attempt(document, patch)
    }),
  )
  assert.equal(Reflect.get({}, 'polluted'), undefined)
})

test('a JSON patch equals its operations applied one by one', () => {
  fc.assert(
    fc.property(values, fc.array(operation, { maxLength: 8 }), (document, patch) => {
      const performed: JsonValue[] = []
      let expected = document
      for (const each of patch) {
        const next = attempt(expected, [each])
        if (next === undefined) continue
        performed.push(each)
        expected = next
      }
      assert.ok(equalJson(attempt(document, performed), expected))
    }),
    { numRuns: 300 },
  )
})

/** The patched document; `undefined` if the patch fails, for which only an API error is allowed. */
function attempt(document: JsonValue, patch: JsonValue): JsonValue | undefined {
  try {
    return applyJsonPatch(deepFreeze(document), deepFreeze(patch))
  } catch (error) {
    assert.ok(isApiError(error))
    return undefined
  }
}
