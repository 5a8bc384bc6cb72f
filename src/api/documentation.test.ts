import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadDocumentation } from './documentation.ts'

test('documentation of definitions and fields', async () => {
  const documentation = await loadDocumentation()
  assert.match(documentation.describe('core.v1.Pod'), /^Pod is a collection of containers/)
  assert.match(documentation.describe('core.v1.ServicePort', 'port'), /port that will be exposed/)
  assert.match(documentation.describe('core.v1.ServicePort', 'protocol'), /"TCP"/)
  assert.equal(documentation.describe('core.v1.ServicePort', 'nothing'), '')
  for (const name of ['__proto__', 'constructor', 'toString']) assert.equal(documentation.describe(name), '')
})
