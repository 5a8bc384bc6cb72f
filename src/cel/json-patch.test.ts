import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CelError } from './cel-error.ts'
import { compile } from './cel.ts'
import { Budget, expressionCostMax } from './cost.ts'
import { Environment } from './environment.ts'
import { jsonPatchLibrary, jsonPatchType } from './library.ts'
import { showType } from './type.ts'
import { ListValue, ObjectValue } from './value.ts'

const environment = new Environment({ libraries: [jsonPatchLibrary] })

test('JSONPatch operations are constructed and read', () => {
  const program = compile(
    `[JSONPatch{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey("k8s.io/my~label"), value: {"a": 1}}]`,
    environment,
  )
  assert.equal(showType(program.type), `list(${jsonPatchType.name})`)
  const operations = program.evaluate({}, new Budget(expressionCostMax))
  assert.ok(operations instanceof ListValue)
  const operation = operations.at(0)
  assert.ok(operation instanceof ObjectValue)
  assert.equal(operation.field('op'), 'add')
  assert.equal(operation.field('path'), '/metadata/labels/k8s.io~1my~0label')
  assert.equal(operation.field('from'), undefined)
})

test('JSONPatch: unknown fields and wrong types are rejected', () => {
  assert.throws(() => compile('JSONPatch{operation: "add"}', environment), CelError)
  assert.throws(() => compile('JSONPatch{op: 1}', environment), CelError)
})
