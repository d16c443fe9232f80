// Precompiled for the layers that may include Asio: net and client.
#pragma once
#include "base/pch.h"

#include <boost/asio.hpp>
#include <boost/asio/ssl.hpp>
