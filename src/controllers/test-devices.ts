/** Test helper: acts as scheduler and device drivers. */
import type { Pod } from '#/api/generated/core/v1.ts'
import type { DeviceToleration, ResourceClaim, ResourceClaimTemplate } from '#/api/generated/resource/v1.ts'
import { resourceClaims } from '#/api/generated/resource/v1-resources.ts'
import { withFinalizer, type Stored } from '#/api/metadata.ts'
import type { TestControlPlane } from './test-control-plane.ts'

export const driver = 'gpu.example.com'

const devices = { requests: [{ name: 'gpu', exactly: { deviceClassName: driver } }] }

export function claimOf(name: string): ResourceClaim {
  return { metadata: { namespace: 'default', name }, spec: { devices } }
}

export function templateOf(name: string): ResourceClaimTemplate {
  const metadata = { labels: { team: 'a' }, annotations: { note: 'n' } }
  return { metadata: { namespace: 'default', name }, spec: { metadata, spec: { devices } } }
}

/** A pod with resource claim entries: `entry=claim`, or `entry<template`. */
export function podWithClaims(
  name: string,
  entries: readonly string[],
  more: Partial<Pod['spec']> = {},
): Pod {
  const claims = entries.map(text => {
    const [entry = '', from = ''] = text.split(/[=<]/)
    return {
      name: entry,
      ...(text.includes('<') ? { resourceClaimTemplateName: from } : { resourceClaimName: from }),
    }
  })
  return {
    metadata: { namespace: 'default', name },
    spec: { containers: [{ name: 'main', image: 'main' }], resourceClaims: claims, ...more },
  }
}

/** Allocates a device for a claim and reserves it for pods. */
export async function allocate(
  plane: TestControlPlane,
  name: string,
  {
    device = 'gpu-0',
    pods = [],
    tolerations = [],
  }: {
    readonly device?: string
    readonly pods?: readonly Stored<Pod>[]
    readonly tolerations?: readonly DeviceToleration[]
  },
): Promise<void> {
  const key = `default/${name}`
  await plane.change(resourceClaims, key, claim =>
    withFinalizer(claim, 'resource.kubernetes.io/delete-protection'),
  )
  const result = {
    request: 'gpu',
    driver,
    pool: 'n1',
    device,
    ...(tolerations.length > 0 && { tolerations }),
  }
  const reservedFor = pods.map(({ metadata }) => {
    return { resource: 'pods', name: metadata.name, uid: metadata.uid }
  })
  await plane.changeStatus(resourceClaims, key, claim => ({
    ...claim,
    status: {
      allocation: { devices: { results: [result] } },
      ...(reservedFor.length > 0 && { reservedFor }),
    },
  }))
}
