import { useEffect, useRef } from 'preact/hooks'
import { getJson } from '../data/api-request.ts'
import { resourceId, type ApiResource } from '../data/api-resource.ts'
import type { ManifestSchema } from './complete-manifest.ts'
import { OpenApiSchemas, type OpenApiDocument } from './openapi-schema.ts'

/** Reads the schema of the kind; completion works as soon as it is there. */
export function useSchema(resource: ApiResource): () => ManifestSchema | undefined {
  const schema = useRef<ManifestSchema | undefined>(undefined)
  useEffect(() => {
    schema.current = undefined
    void loadSchema(resource).then(
      loaded => {
        schema.current = loaded
      },
      // Without it there is no completion.
      () => undefined,
    )
  }, [resourceId(resource), resource.version])
  return () => schema.current
}

/** Documents by path; a rejected one is read again. */
const documents = new Map<string, Promise<OpenApiSchemas>>()

/** Undefined if the API server has no schema of the kind. Rejects if it cannot be read. */
async function loadSchema({ group, version, kind }: ApiResource): Promise<ManifestSchema | undefined> {
  const path = group === '' ? `/openapi/v3/api/${version}` : `/openapi/v3/apis/${group}/${version}`
  const schemas = await (documents.get(path) ?? readDocument(path))
  const root = schemas.schemaOf({ group, version, kind })
  return root && { schemas, root }
}

async function readDocument(path: string): Promise<OpenApiSchemas> {
  const read = getJson<OpenApiDocument>(path).then(document => new OpenApiSchemas(document))
  documents.set(path, read)
  try {
    return await read
  } catch (error) {
    documents.delete(path)
    throw error
  }
}
