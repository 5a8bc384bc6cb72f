import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UsageError } from '#/base/flags.ts'
import { controlPlaneOf, parseTestComponents } from './test-components.ts'

const none = { type: 'none' }

test('K8TS_ENVTEST selects the components beside the API server', () => {
  const check = (text: string, expected: unknown): void => {
    assert.deepEqual(controlPlaneOf(parseTestComponents(text)), expected, text)
  }
  check('', undefined)
  check(' , ', undefined)
  check('controllers', { components: ['controllers'], nodes: none })
  check('scheduler', { components: ['scheduler'], nodes: none })
  check('scheduler, controllers', { components: ['controllers', 'scheduler'], nodes: none })
  check('controllers,nodes=0', { components: ['controllers'], nodes: none })
  check('controllers,scheduler,nodes=3', {
    components: ['controllers', 'scheduler'],
    nodes: { type: 'simulated', count: 3 },
  })
})

test('an unknown component, and nodes without controllers, are rejected', () => {
  const refuse = (text: string, complaint: RegExp): void => {
    assert.throws(
      () => controlPlaneOf(parseTestComponents(text)),
      (error: Error) => error instanceof UsageError && complaint.test(error.message),
      text,
    )
  }
  for (const word of ['nodes', 'nodes=', 'nodes=-1', 'nodes=x', 'nodes=10000', 'kubelet', 'Controllers']) {
    refuse(`controllers,${word}`, new RegExp(`^${word} must be controllers, scheduler or nodes=N$`))
  }
  refuse('scheduler,nodes=1', /^nodes require controllers/)
})
