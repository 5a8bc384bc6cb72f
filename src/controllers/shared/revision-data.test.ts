import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PodTemplateSpec } from '#/api/generated/core/v1.ts'
import { revisionData, revisionHash, templateOfRevision } from './revision-data.ts'

test('revision names and hashes equal those of Kubernetes', () => {
  const template: PodTemplateSpec = {
    spec: {
      terminationGracePeriodSeconds: 30,
      restartPolicy: 'Always',
      dnsPolicy: 'ClusterFirst',
      securityContext: {},
      schedulerName: 'default-scheduler',
      containers: [
        {
          name: 'test',
          image: 'test',
          resources: {},
          terminationMessagePath: '/dev/termination-log',
          terminationMessagePolicy: 'File',
          imagePullPolicy: 'Always',
        },
      ],
    },
    metadata: { labels: { app: 'foo' }, annotations: { test: 'value' } },
  }
  const data = revisionData(template)
  assert.equal(revisionHash(data, 0), '776999688b')
  assert.equal(revisionHash(data, 1), '776999688c')
  assert.deepEqual(templateOfRevision({ metadata: {}, revision: 1, data }), template)
})

test('keys such as __proto__ in templates are ordinary keys', () => {
  const labels = JSON.parse('{ "__proto__": "a", "constructor": "b" }') as Record<string, string>
  const template = { metadata: { labels } }
  const kept = templateOfRevision({ metadata: {}, revision: 1, data: revisionData(template) })
  assert.deepEqual(Object.entries(kept?.metadata?.labels ?? {}), Object.entries(labels))
})
