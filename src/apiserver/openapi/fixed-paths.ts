/** Non-resource paths: discovery, the server version and the issuer of service account tokens. */
import { mediaTypes } from '../negotiation.ts'
import { fullName, metaDefinition } from './definition-names.ts'
import { rootOf } from './operation-draft.ts'
import { capitalize, groupIdentifier, tagOf } from './operation-names.ts'
import type { Operation, Path } from './operation.ts'

/** By the name of the OpenAPI v3 document that contains the path. */
export const rootPaths: ReadonlyMap<string, Path> = new Map([
  ['api', versionsPath({ path: '/api/', id: 'getCoreAPIVersions', tag: 'core', answer: 'APIVersions' })],
  ['apis', versionsPath({ path: '/apis/', id: 'getAPIVersions', tag: 'apis', answer: 'APIGroupList' })],
  ['version', versionPath()],
])

/** Where the issuer of service account tokens is discoverable. By the name of the OpenAPI v3 document. */
export const issuerPaths: ReadonlyMap<string, Path> = new Map([
  [
    '.well-known/openid-configuration',
    issuerPath({
      path: '/.well-known/openid-configuration/',
      id: 'getServiceAccountIssuerOpenIDConfiguration',
      tag: 'WellKnown',
      description: "get service account issuer OpenID configuration, also known as the 'OIDC discovery doc'",
      mediaType: 'application/json',
    }),
  ],
  [
    'openid/v1/jwks',
    issuerPath({
      path: '/openid/v1/jwks/',
      id: 'getServiceAccountIssuerOpenIDKeyset',
      tag: 'openid',
      description:
        'get service account issuer OpenID JSON Web Key Set (contains public token verification keys)',
      mediaType: 'application/jwk-set+json',
    }),
  ],
])

function issuerPath({ path, mediaType, ...rest }: IssuerPath): Path {
  return {
    path,
    operations: [
      { ...rest, method: 'get', produces: [mediaType], parameters: [], responses: { 200: 'string' } },
    ],
  }
}

interface IssuerPath extends Pick<Operation, 'id' | 'tag' | 'description'> {
  readonly path: string
  readonly mediaType: string
}

export function groupPath(group: string): Path {
  return read({
    path: `/apis/${group}/`,
    id: `get${groupIdentifier(group)}APIGroup`,
    tag: tagOf(group),
    description: 'get information of a group',
    answer: 'APIGroup',
  })
}

export function resourceListPath(home: { readonly group: string; readonly version: string }): Path {
  const { group, version } = home
  return read({
    path: `${rootOf(home)}/`,
    id: `get${groupIdentifier(group)}${capitalize(version)}APIResources`,
    tag: tagOf(group, version),
    description: 'get available resources',
    answer: 'APIResourceList',
  })
}

function versionPath(): Path {
  return {
    path: '/version/',
    operations: [
      {
        method: 'get',
        id: 'getCodeVersion',
        tag: 'version',
        description: 'get the version information for this server',
        consumes: [mediaTypes.json],
        produces: [mediaTypes.json],
        parameters: [],
        responses: { 200: fullName('version.Info') },
      },
    ],
  }
}

function versionsPath(reading: Omit<Reading, 'description'>): Path {
  return read({ ...reading, description: 'get available API versions' })
}

interface Reading {
  readonly path: string
  readonly id: string
  readonly tag: string
  readonly description: string
  /** A kind of `meta/v1`. */
  readonly answer: string
}

function read({ path, id, tag, description, answer }: Reading): Path {
  const forms = Object.values(mediaTypes)
  return {
    path,
    operations: [
      {
        method: 'get',
        id,
        tag,
        description,
        consumes: forms,
        produces: forms,
        parameters: [],
        responses: { 200: metaDefinition(answer) },
      },
    ],
  }
}
