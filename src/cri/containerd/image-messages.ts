import { message, type MessageOf } from '#/base/protobuf.ts'
import { ImageSpec, Int64Value } from './common-messages.ts'
import { FilesystemUsage } from './runtime-messages.ts'

/** CRI v1 image service messages. Names and field numbers are CRI's. */
export const Image = message({
  id: [1, 'string'],
  repoTags: [2, 'string', 'repeated'],
  repoDigests: [3, 'string', 'repeated'],
  size: [4, 'uint64'],
  uid: [5, Int64Value],
  username: [6, 'string'],
  pinned: [8, 'bool'],
})
export type Image = MessageOf<typeof Image>

export const ListImagesResponse = message({ images: [1, Image, 'repeated'] })

/** Request of image status and image removal. */
export const ImageRequest = message({ image: [1, ImageSpec] })

export const ImageStatusResponse = message({ image: [1, Image] })

const AuthConfig = message({
  username: [1, 'string'],
  password: [2, 'string'],
  auth: [3, 'string'],
  serverAddress: [4, 'string'],
  identityToken: [5, 'string'],
  registryToken: [6, 'string'],
})

export const PullImageRequest = message({ image: [1, ImageSpec], auth: [2, AuthConfig] })

export const PullImageResponse = message({ imageRef: [1, 'string'] })

export const ImageFsInfoResponse = message({ imageFilesystems: [1, FilesystemUsage, 'repeated'] })
