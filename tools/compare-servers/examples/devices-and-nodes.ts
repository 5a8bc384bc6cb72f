import type { Examples } from './example.ts'

const request = { name: 'one', exactly: { deviceClassName: 'nowhere' } }
const richRequest = {
  name: 'one',
  exactly: {
    deviceClassName: 'nowhere',
    selectors: [{ cel: { expression: 'device.driver == "x.example.com"' } }],
    allocationMode: 'ExactCount',
    count: 2,
    tolerations: [{ key: 'a', operator: 'Exists', effect: 'NoExecute' }],
  },
}
const devices = {
  requests: [richRequest, { name: 'two', firstAvailable: [{ name: 'a', deviceClassName: 'nowhere' }] }],
  constraints: [{ requests: ['one'], matchAttribute: 'x.example.com/model' }],
  config: [{ requests: ['one'], opaque: { driver: 'x.example.com', parameters: { a: 1 } } }],
}

export const deviceAndNodeExamples: Examples = {
  'coordination.k8s.io/Lease': {
    minimal: {},
    rich: {
      spec: {
        holderIdentity: 'me',
        leaseDurationSeconds: 15,
        acquireTime: '2001-01-01T00:00:00.000001Z',
        renewTime: '2001-01-01T00:00:01.000001Z',
        leaseTransitions: 2,
      },
    },
  },
  'node.k8s.io/RuntimeClass': {
    minimal: { handler: 'sandbox' },
    rich: {
      handler: 'sandbox',
      overhead: { podFixed: { memory: '64Mi' } },
      scheduling: { nodeSelector: { a: 'b' }, tolerations: [{ key: 'a', operator: 'Exists' }] },
    },
  },
  'resource.k8s.io/DeviceClass': {
    minimal: { spec: {} },
    rich: {
      spec: {
        selectors: [{ cel: { expression: 'device.driver == "x.example.com"' } }],
        config: [{ opaque: { driver: 'x.example.com', parameters: { a: 1 } } }],
        extendedResourceName: 'example.com/device',
      },
    },
  },
  'resource.k8s.io/ResourceClaim': {
    minimal: { spec: { devices: { requests: [request] } } },
    rich: { spec: { devices } },
  },
  'resource.k8s.io/ResourceClaimTemplate': {
    minimal: { spec: { spec: { devices: { requests: [request] } } } },
    rich: { spec: { metadata: { labels: { a: 'b' } }, spec: { devices } } },
  },
  'resource.k8s.io/ResourceSlice': {
    minimal: {
      spec: {
        driver: 'x.example.com',
        allNodes: true,
        pool: { name: 'p', generation: 1, resourceSliceCount: 1 },
      },
    },
    rich: {
      spec: {
        driver: 'x.example.com',
        nodeName: 'n1',
        pool: { name: 'pool', generation: 1, resourceSliceCount: 1 },
        devices: [
          {
            name: 'd1',
            attributes: {
              model: { string: 'a' },
              fast: { bool: true },
              level: { int: 3 },
              driver: { version: '1.2.3' },
            },
            capacity: { memory: { value: '1Gi' } },
          },
        ],
      },
    },
  },
}
